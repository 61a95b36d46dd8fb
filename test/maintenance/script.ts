import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

/** Does what `psql` does with a script of the format `postgres`, as far as such a script goes. */
export async function playScript(file: string, dsn: string): Promise<void> {
  const client = new pg.Client({ connectionString: dsn })
  await client.connect()
  try {
    let statements: string[] = []
    let copying: ReturnType<typeof copyFrom> | null = null
    for await (const line of createInterface({ input: createReadStream(file).pipe(createGunzip()), crlfDelay: 0 })) {
      if (copying) {
        if (line === '\\.') {
          copying.end()
          await finished(copying)
          copying = null
        } else if (!copying.write(`${line}\n`)) await once(copying, 'drain')
      } else if (/^copy .* from stdin;$/.test(line)) {
        await client.query(statements.join('\n'))
        statements = []
        copying = client.query(copyFrom(line.replace(/;$/, '')))
      } else if (!line.startsWith('\\')) statements.push(line)
    }
    await client.query(statements.join('\n'))
  } finally {
    await client.end()
  }
}

/** Everything that the schemas of the service have besides rows, a line each. */
const structure = `
  select 'column ' || c.oid::regclass || ' ' || a.attnum || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' ||
    a.attnotnull || ' ' || a.attstorage::text || ' ' || a.attgenerated::text || a.attidentity::text || ' ' || a.attcollation::regcollation || ' ' ||
    coalesce(pg_get_expr(d.adbin, d.adrelid), '') || ' ' || coalesce(col_description(c.oid, a.attnum), '') as line
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join lateral (select *, row_number() over (order by attnum) as place from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) a on true
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where n.nspname in ('public', 'graphile_worker') and c.relkind in ('r', 'v', 'c')
  union all select 'relation ' || c.oid::regclass || ' ' || c.relkind::text || c.relpersistence::text || ' ' || c.relrowsecurity || ' ' ||
      coalesce(c.reloptions::text, '') || ' ' || coalesce(t.reloptions::text, '') || ' ' || coalesce(obj_description(c.oid), '')
    from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_class t on t.oid = c.reltoastrelid
    where n.nspname in ('public', 'graphile_worker')
  union all select 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(k.oid)
    from pg_constraint k join pg_namespace n on n.oid = k.connamespace where n.nspname in ('public', 'graphile_worker') and contype <> 'n'
  union all select 'index ' || pg_get_indexdef(indexrelid) from pg_index i join pg_class c on c.oid = i.indrelid
    join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('public', 'graphile_worker')
  union all select 'trigger ' || pg_get_triggerdef(oid) || tgenabled::text from pg_trigger where not tgisinternal
  union all select 'function ' || pg_get_functiondef(p.oid) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('public', 'graphile_worker') and p.prokind in ('f', 'p')
      and not exists (select from pg_depend e where e.objid = p.oid and e.deptype = 'e')
  union all select 'view ' || c.oid::regclass || pg_get_viewdef(c.oid) from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'v' and n.nspname in ('public', 'graphile_worker')
  union all select 'sequence ' || s.seqrelid::regclass || ' ' || row(seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle)::text ||
      ' ' || coalesce((select refobjid::regclass || ' ' || refobjsubid || deptype::text from pg_depend where objid = s.seqrelid and deptype in ('a', 'i')), '')
    from pg_sequence s
  union all select 'extension ' || extname from pg_extension
  order by 1`

export async function structureOf(dsn: string): Promise<string[]> {
  return (await asked<{ line: string }>(dsn, structure)).map(({ line }) => line)
}

/** How many rows each table has, and a hash of all of them; of each sequence where it is. */
export async function rowsOf(dsn: string): Promise<Map<string, string>> {
  const tables = await asked<{ name: string; sequence: boolean }>(
    dsn,
    `select c.oid::regclass::text as name, c.relkind = 'S' as sequence from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('public', 'graphile_worker') and c.relkind in ('r', 'S') order by 1`,
  )
  const parts = tables.map(({ name, sequence }) =>
    sequence
      ? `select '${name}' as name, last_value || ' ' || is_called as rows from ${name}`
      : `select '${name}' as name, count(*) || ' ' || coalesce(md5(string_agg(md5(t::text), '' order by md5(t::text))), '') as rows from ${name} t`,
  )
  const rows = await asked<{ name: string; rows: string }>(dsn, parts.join(' union all '))
  return new Map(rows.map((row) => [row.name, row.rows]))
}

async function asked<T extends object>(dsn: string, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: dsn })
  await client.connect()
  try {
    return (await client.query<T>(text)).rows
  } finally {
    await client.end()
  }
}
