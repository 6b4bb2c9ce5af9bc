-- SPDX-License-Identifier: MIT
select sum(abalance), count(*) from pgbench_accounts;
select sum(tbalance) from pgbench_tellers;
select sum(bbalance) from pgbench_branches;
select count(*), sum(delta) from pgbench_history;
create table item as
  select n as id, n * 7919 % 1013 as owner, 'name-' || n % 977 as name, repeat(md5(n::text), 1 + n % 20) as body,
         jsonb_build_object('n', n, 'tags', jsonb_build_array(n % 3, n % 5)) as doc
  from generate_series(1, 120000) n;
create table owner as select n as id, md5(n::text) as label from generate_series(0, 1012) n;
set max_parallel_maintenance_workers = 2;
set min_parallel_table_scan_size = 0;
create index on item using gin (doc);
create index on item (body, id);
analyze;
set work_mem = '64MB';
select o.label, count(*), max(length(i.body)), sum((i.doc ->> 'n')::int)
  from item i join owner o on o.id = i.owner group by o.label order by o.label limit 12;
select md5(string_agg(name || ':' || id, ',' order by body desc, id)) from item;
select count(*) from item a join item b using (name) where a.id < 3000;
select count(*) from item where doc @> '{"tags": [1, 2]}';
select id, row_number() over (partition by owner order by length(body), id) place
  from item order by place desc, id limit 10;
with recursive tree (n, path) as (select 1, '1' union all select n + 1, path || '/' || n from tree where n < 2000)
  select max(length(path)) from tree;
select count(distinct regexp_replace(body, '[a-f]+', '-', 'g')) from item where id < 20000;
select md5(xmlagg(xmlelement(name item, xmlattributes(id as number), name) order by id)::text)
  from item where id < 5000;
do $$
declare total bigint := 0; words text[];
begin
  for round in 1..3000 loop
    words := string_to_array(repeat('word-' || round || ' ', 1 + round % 50), ' ');
    total := total + array_length(words, 1);
  end loop;
  raise notice 'words: %', total;
end $$;
vacuum full item;
select count(*), sum(length(body)) from item;
