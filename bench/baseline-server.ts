/**
 * The server for comparison: plain `node:http` and `pg`, with the least work for the same answer. It uses the service's
 * database, and separate tables for its writes.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.BENCH_DSN, max: 10, pipeline: true } as pg.PoolConfig)

const sessions = 1000

const tables = `
  create table if not exists bare_object (id bigint primary key, version int not null, standard jsonb not null);
  create table if not exists bare_version (id bigint, version int, at timestamptz, content jsonb, primary key (id, version));
  create table if not exists bare_event (id bigserial primary key, type text, object bigint, at timestamptz, info jsonb);
  create table if not exists bare_queue (object bigint, seq bigserial);
  create table if not exists bare_session (id bigint primary key, expires_at timestamptz, last_used_at timestamptz);
  create table if not exists bare_token (hash bytea primary key, kind "char", session bigint, issued_at timestamptz,
    expires_at timestamptz, used_at timestamptz, seed bytea);
  create index if not exists bare_token_idx on bare_token (session);
  create sequence if not exists bare_id`

/** One row by primary key. */
async function one(id: number): Promise<unknown> {
  const { rows } = await pool.query<{ content: unknown }>({
    name: 'row',
    text: 'select content from object_version where system_object_id = $1 and version = 1',
    values: [id],
  })
  return rows
}

/** Versions by their ids, up to so many bytes. */
async function page({ ids, bytes }: { ids: number[]; bytes: number }): Promise<string> {
  const { rows } = await pool.query<{ content: unknown }>({
    name: 'page',
    text: `select v.content from object o join object_version v using (system_object_id, version)
      where o.system_object_id = any($1::bigint[])`,
    values: [ids],
  })
  return JSON.stringify(rows).padEnd(bytes)
}

/** Words that begin with a text, and how many objects of a type have each: 500 at most, whoever may see them. */
async function suggest({ beginning, type }: { beginning: string; type: number }): Promise<unknown> {
  const { rows } = await pool.query<{ term: string; count: number }>({
    name: 'suggest',
    text: `select c.term, (select count(*)::int from (select from search_document d
        where d.lexemes @@ ('''~' || c.term || '''')::tsquery and d.objecttype = $2 limit 500) m) as count
      from (select term from search_term where field = 0 and term >= $1 and term < $1 || U&'\\+10FFFF'
        order by char_length(term), term limit 40) c`,
    values: [beginning, type],
  })
  return rows.sort((one, other) => other.count - one.count).slice(0, 10)
}

/** Objects: head, version, event and queue entry of each, in one transaction and two round trips. */
async function save(objects: unknown[]): Promise<unknown> {
  const client = await pool.connect()
  try {
    const [, ids] = await Promise.all([
      client.query('begin'),
      client.query<{ id: string }>({
        name: 'ids',
        text: `select nextval('bare_id') as id from generate_series(1, $1)`,
        values: [objects.length],
      }),
    ])
    const values = [ids.rows.map((row) => row.id), objects.map((object) => JSON.stringify(object))]
    const insert = (name: string, text: string) => client.query({ name, text, values })
    await Promise.all([
      insert('head', 'insert into bare_object select i, 1, d from unnest($1::bigint[], $2::jsonb[]) x(i, d)'),
      insert(
        'version',
        'insert into bare_version select i, 1, now(), d from unnest($1::bigint[], $2::jsonb[]) x(i, d)',
      ),
      insert(
        'event',
        `insert into bare_event (type, object, at, info)
         select 'OBJECT_INSERT', i, now(), d from unnest($1::bigint[], $2::jsonb[]) x(i, d)`,
      ),
      insert('queue', 'insert into bare_queue (object) select i from unnest($1::bigint[], $2::jsonb[]) x(i, d)'),
      client.query('commit'),
    ])
    return ids.rows
  } finally {
    client.release()
  }
}

/** The writes of a refresh: a used token, two new ones, the end of the session; in one transaction and two round trips. */
async function token(): Promise<unknown> {
  const session = Math.floor(Math.random() * sessions)
  const [used, access, refresh, seed] = [1, 2, 3, 4].map(() => randomBytes(32))
  const client = await pool.connect()
  const write = (name: string, text: string, values: unknown[]) => client.query({ name, text, values })
  try {
    await Promise.all([
      client.query('begin'),
      write('use', `insert into bare_token values ($1, 'r', $2, now(), now(), now(), $3)`, [used, session, seed]),
    ])
    await Promise.all([
      write(
        'tokens',
        `insert into bare_token select h, k, $3, now(), now() + interval '1 day' from unnest($1::bytea[], $2::"char"[]) x(h, k)`,
        [[access, refresh], ['a', 'r'], session],
      ),
      write('session', `update bare_session set expires_at = now(), last_used_at = now() where id = $1`, [session]),
      client.query('commit'),
    ])
    return { access_token: access?.toString('base64url'), refresh_token: refresh?.toString('base64url') }
  } finally {
    client.release()
  }
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const [, what, id] = request.url?.split('/') ?? []
  if (what === 'one') return one(Number(id))
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(Buffer.concat(chunks).toString())
  if (what === 'token') return token()
  if (what === 'suggest') return suggest(body)
  return what === 'page' ? page(body) : save(body)
}

await pool.query(tables)
await pool.query('insert into bare_session select g from generate_series(0, $1 - 1) g on conflict do nothing', [
  sessions,
])
const server = createServer(async (request, response) => {
  const body = await answer(request)
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`ready at http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
})
process.on('SIGTERM', () => process.exit(0))
