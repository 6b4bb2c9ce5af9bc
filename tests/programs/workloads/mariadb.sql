-- SPDX-License-Identifier: MIT
create database work;
use work;
create table item (id int primary key, owner int, name varchar(80), body text, doc json, key (owner)) engine=InnoDB;
insert into item
  select seq, seq * 7919 % 1013, concat('name-', seq % 977), repeat(md5(seq), 1 + seq % 20),
         json_object('n', seq, 'tags', json_array(seq % 3, seq % 5))
  from seq_1_to_60000;
create table owner (id int primary key, label varchar(40), key (label)) engine=Aria;
insert into owner select seq, sha1(seq) from seq_0_to_1012;
select count(*), sum(length(body)), sum(crc32(name)) from item;
select o.label, count(*), max(length(i.body)), sum(json_value(i.doc, '$.n'))
  from item i join owner o on o.id = i.owner group by o.label order by o.label limit 12;
select name, group_concat(id order by body, id separator ',')
  from item where id < 3000 group by name order by name limit 8;
update item set body = concat(body, reverse(body)), name = upper(name) where id % 3 = 0;
delete from item where id % 11 = 0;
alter table item add fulltext index words (name), add index body_head (body(40));
select count(*) from item a join item b on a.name = b.name where a.id < 2000;
select id, row_number() over (partition by owner order by length(body), id) place
  from item order by place desc, id limit 10;
with recursive tree (n, path) as
  (select 1, cast('1' as char(900)) union all select n + 1, concat(path, '/', n) from tree where n < 200)
  select max(length(path)) from tree;
select count(distinct regexp_replace(body, '[a-f]+', '-')) from item where id < 5000;
checksum table item, owner;
