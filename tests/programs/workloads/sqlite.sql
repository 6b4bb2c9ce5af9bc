-- SPDX-License-Identifier: MIT
-- Run with the parameter @rows set.
pragma journal_mode = wal;
pragma synchronous = off;
pragma cache_size = -20000;
create table item (id integer primary key, owner integer, name text, body blob, doc text);
insert into item
  select value, value * 7919 % 1013, 'name-' || value % 977, zeroblob(value % 300),
         json_object('n', value, 'tags', json_array(value % 3, value % 5))
  from generate_series(1, @rows);
create table owner as select value as id, printf('%08x', value * 2654435761) as label from generate_series(0, 1012);
create index item_owner on item (owner, name);
select count(*), sum(length(body)), sum(length(doc)) from item;
select o.label, count(*), max(length(i.body)), sum(json_extract(i.doc, '$.n'))
  from item i join owner o on o.id = i.owner group by o.label order by o.label limit 12;
select name, length(group_concat(doc, ';')) from item group by name order by 2 desc, 1 limit 8;
select id, row_number() over (partition by owner order by length(body), id) place
  from item order by place desc, id limit 10;
create virtual table words using fts5 (name, doc);
insert into words select name, doc from item;
select count(*) from words where words match 'name AND 1';
insert into words (words) values ('optimize');
update item set doc = json_insert(doc, '$.more', name), body = hex(body) || body where id % 3 = 0;
delete from item where id % 11 = 0;
with recursive tree (n, path) as (select 1, '1' union all select n + 1, path || '/' || n from tree where n < 3000)
  select max(length(path)) from tree;
select count(*), sum(length(a.doc)) from item a join item b on a.name = b.name where a.id < 300;
vacuum;
pragma integrity_check;
select sum(length(body)), sum(length(doc)) from item;
