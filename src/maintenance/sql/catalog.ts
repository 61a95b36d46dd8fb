import type { ClientBase } from 'pg'
import { type Definition, inOrderOfNeed } from './order.ts'

/**
 * The definitions of our schemas in the catalogue of PostgreSQL, as statements that create them again. They are read with an empty
 * search path, so that all names in them are qualified.
 */

/** Our schema, and that of the job queue. */
const schemas = ['public', 'graphile_worker']

export interface Catalogue {
  /** In an order in which they can be created. */
  readonly definitions: readonly Definition[]
  /** Statements to run after all definitions above, before there are rows. */
  readonly triggers: readonly string[]
  /** Statements to run after the rows are inserted. */
  readonly behind: readonly string[]
}

/** @throws {Error} when there is an object of an unknown kind: a script without it would be incomplete. */
export async function readCatalogue(client: ClientBase): Promise<Catalogue> {
  const list = async (text: string): Promise<string[]> =>
    (await client.query<{ text: string }>(text, [schemas])).rows.map((row) => row.text)
  await client.query(`set local search_path = ''`)
  const strange = await list(unknown)
  if (strange.length > 0)
    throw new Error(`the database has something that the format postgres does not know: ${strange}`)
  const { rows: made } = await client.query<Definition>(`${definitions} order by oid`, [schemas])
  const { rows: needs } = await client.query<{ from: string; to: string }>(dependencies)
  return {
    definitions: inOrderOfNeed(made, needs),
    triggers: await list(triggers),
    behind: [
      ...(await list(owners)),
      ...(await list(indexes)),
      ...(await list(foreignKeys)),
      ...(await list(comments)),
    ],
  }
}

/** Objects of an extension are created together with it. */
const own = (catalogue: string, oid: string): string =>
  `not exists (select from pg_depend e where e.classid = 'pg_catalog.${catalogue}'::regclass and e.objid = ${oid} and e.deptype = 'e')`

const sequenceOptions = `format('start with %s increment by %s minvalue %s maxvalue %s cache %s%s', s.seqstart, s.seqincrement,
  s.seqmin, s.seqmax, s.seqcache, case when s.seqcycle then ' cycle' else '' end)`

const collation = `case when a.attcollation = t.typcollation then '' else
  (select format(' collate %I.%I', cn.nspname, co.collname) from pg_collation co join pg_namespace cn on cn.oid = co.collnamespace
   where co.oid = a.attcollation) end`

const identity = `case when a.attidentity = '' then '' else
  (select format(' generated %s as identity (sequence name %I.%I ', case a.attidentity when 'a' then 'always' else 'by default' end,
     sn.nspname, sc.relname) || ${sequenceOptions} || ')'
   from pg_depend sd join pg_sequence s on s.seqrelid = sd.objid join pg_class sc on sc.oid = s.seqrelid
     join pg_namespace sn on sn.oid = sc.relnamespace
   where sd.classid = 'pg_catalog.pg_class'::regclass and sd.refclassid = sd.classid and sd.refobjid = c.oid
     and sd.refobjsubid = a.attnum and sd.deptype = 'i') end`

const value = `coalesce(case a.attgenerated
  when 's' then ' generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') stored'
  when 'v' then ' generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') virtual'
  else ' default ' || pg_get_expr(d.adbin, d.adrelid) end, '')`

const columns = `select string_agg(
    quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod) || ${collation} ||
    case when a.attnotnull then ' not null' else '' end || ${value} || ${identity}, E',\\n  ' order by a.attnum)
  from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped`

/** Keys, checks and exclusions. Foreign keys are created after all rows are inserted. */
const keys = `select string_agg(format(E',\\n  constraint %I %s', k.conname, pg_get_constraintdef(k.oid)), ''
    order by k.contype = 'p' desc, k.conname)
  from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'c', 'x')`

const parameters = (list: string, prefix: string): string =>
  `(select string_agg('${prefix}' || split_part(o, '=', 1) || '=' || quote_literal(substr(o, strpos(o, '=') + 1)), ', ')
    from unnest(${list}) as o)`

const storage = `select string_agg(format(E'alter table only %I.%I alter column %I set storage %s;\\n', n.nspname, c.relname, a.attname,
    case a.attstorage when 'e' then 'external' when 'm' then 'main' when 'p' then 'plain' else 'extended' end), '' order by a.attnum)
  from pg_attribute a join pg_type t on t.oid = a.atttypid
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attstorage <> t.typstorage`

const tables = `select 'relation ' || c.oid as key, c.oid::int8 as oid,
    format(E'create %stable %I.%I (\\n  ', case c.relpersistence when 'u' then 'unlogged ' else '' end, n.nspname, c.relname) ||
    concat((${columns}), (${keys})) || E'\\n)' ||
    coalesce(' with (' || nullif(concat_ws(', ', ${parameters('c.reloptions', '')}, ${parameters('toast.reloptions', 'toast.')}), '') || ')', '') ||
    E';\\n' || coalesce((${storage}), '') ||
    case when c.relrowsecurity then format(E'alter table %I.%I enable row level security;\\n', n.nspname, c.relname) else '' end as text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_class toast on toast.oid = c.reltoastrelid
  where n.nspname = any($1) and c.relkind = 'r' and ${own('pg_class', 'c.oid')}`

/** The sequences of identity columns are created together with the columns. */
const sequences = `select 'relation ' || c.oid, c.oid::int8,
    format(E'create sequence %I.%I as %s %s;\\n', n.nspname, c.relname, format_type(s.seqtypid, null), ${sequenceOptions})
  from pg_sequence s join pg_class c on c.oid = s.seqrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any($1) and not exists (select from pg_depend i where i.classid = 'pg_catalog.pg_class'::regclass
    and i.objid = c.oid and i.deptype = 'i')`

const views = `select 'relation ' || c.oid, c.oid::int8,
    format(E'create view %I.%I%s as\\n%s\\n', n.nspname, c.relname,
      coalesce(' with (' || ${parameters('c.reloptions', '')} || ')', ''), pg_get_viewdef(c.oid))
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any($1) and c.relkind = 'v' and ${own('pg_class', 'c.oid')}`

const composites = `select 'relation ' || c.oid, c.oid::int8,
    format(E'create type %I.%I as (%s);\\n', n.nspname, c.relname,
      (select string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)) || ${collation}, ', ' order by a.attnum)
       from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any($1) and c.relkind = 'c' and ${own('pg_class', 'c.oid')}`

const functions = `select 'function ' || p.oid, p.oid::int8, pg_get_functiondef(p.oid) || E';\\n'
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = any($1) and p.prokind in ('f', 'p') and ${own('pg_proc', 'p.oid')}`

const definitions = [tables, sequences, views, composites, functions].join('\n  union all\n')

/** The dependencies of each definition, by its key: defaults, rules of views and checks are parts of a definition. */
const dependencies = `with part (class, oid, key) as (
    select 'pg_catalog.pg_class'::regclass, oid, 'relation ' || oid from pg_class
    union all select 'pg_catalog.pg_proc'::regclass, oid, 'function ' || oid from pg_proc
    union all select 'pg_catalog.pg_attrdef'::regclass, oid, 'relation ' || adrelid from pg_attrdef
    union all select 'pg_catalog.pg_rewrite'::regclass, oid, 'relation ' || ev_class from pg_rewrite
    union all select 'pg_catalog.pg_constraint'::regclass, oid, 'relation ' || conrelid from pg_constraint where contype = 'c'
    union all select 'pg_catalog.pg_type'::regclass, t.oid, 'relation ' || coalesce(nullif(t.typrelid, 0), e.typrelid)
      from pg_type t left join pg_type e on e.oid = t.typelem where t.typrelid <> 0 or e.typrelid <> 0)
  select distinct a.key as from, b.key as to
  from pg_depend d join part a on a.class = d.classid and a.oid = d.objid join part b on b.class = d.refclassid and b.oid = d.refobjid
  where d.deptype = 'n' and a.key <> b.key`

const triggers = `select pg_get_triggerdef(t.oid) || ';' as text
  from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any($1) and not t.tgisinternal order by n.nspname, c.relname, t.tgname`

/** Ownership of sequences by the columns that use them. */
const owners = `select format('alter sequence %I.%I owned by %I.%I.%I;', n.nspname, c.relname, tn.nspname, tc.relname, a.attname) as text
  from pg_depend d join pg_class c on c.oid = d.objid and c.relkind = 'S' join pg_namespace n on n.oid = c.relnamespace
    join pg_class tc on tc.oid = d.refobjid join pg_namespace tn on tn.oid = tc.relnamespace
    join pg_attribute a on a.attrelid = tc.oid and a.attnum = d.refobjsubid
  where n.nspname = any($1) and d.classid = 'pg_catalog.pg_class'::regclass and d.refclassid = d.classid and d.deptype = 'a'
  order by n.nspname, c.relname`

const indexes = `select pg_get_indexdef(i.indexrelid) || ';' as text
  from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any($1) and i.indisvalid and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
  order by 1`

const foreignKeys = `select format('alter table only %I.%I add constraint %I %s;', n.nspname, c.relname, k.conname, pg_get_constraintdef(k.oid)) as text
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any($1) and k.contype = 'f' order by n.nspname, c.relname, k.conname`

const comments = `select format('comment on %s is %L;',
    case when d.objsubid = 0 then format('table %I.%I', n.nspname, c.relname)
      else format('column %I.%I.%I', n.nspname, c.relname, a.attname) end, d.description) as text
  from pg_description d join pg_class c on c.oid = d.objoid and c.relkind = 'r' join pg_namespace n on n.oid = c.relnamespace
    left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid and d.objsubid > 0
  where n.nspname = any($1) and d.classoid = 'pg_catalog.pg_class'::regclass order by n.nspname, c.relname, d.objsubid`

/** Kinds of objects that no statement above creates. */
const unknown = `select format('%I.%I', n.nspname, c.relname) as text from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any($1) and c.relkind not in ('r', 'i', 'S', 'v', 'c') and ${own('pg_class', 'c.oid')}
  union all select 'type ' || t.oid::regtype from pg_type t join pg_namespace n on n.oid = t.typnamespace
    where n.nspname = any($1) and t.typtype not in ('b', 'c') and ${own('pg_type', 't.oid')}
  union all select 'function ' || p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = any($1) and p.prokind not in ('f', 'p') and ${own('pg_proc', 'p.oid')}
  union all select 'collation ' || c.collname from pg_collation c join pg_namespace n on n.oid = c.collnamespace
    where n.nspname = any($1) and ${own('pg_collation', 'c.oid')}
  union all select 'statistics ' || s.stxname from pg_statistic_ext s join pg_namespace n on n.oid = s.stxnamespace where n.nspname = any($1)
  union all select 'policy ' || p.polname from pg_policy p
  union all select 'trigger ' || t.tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any($1) and not t.tgisinternal and t.tgenabled <> 'O'
  union all select 'rule ' || r.rulename from pg_rewrite r join pg_class c on c.oid = r.ev_class join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any($1) and r.rulename <> '_RETURN'`

/** Extensions with their schemas. */
export async function readExtensions(client: ClientBase): Promise<{ name: string; schema: string }[]> {
  const { rows } = await client.query<{ name: string; schema: string }>(
    `select e.extname as name, n.nspname as schema from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
     where e.extname <> 'plpgsql' order by e.oid`,
  )
  return rows
}
