import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import sharp from 'sharp'
import type { Json } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

export interface Sent {
  readonly name: string
  readonly content: Buffer
}

export const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

/** A small picture, never the same twice. */
export async function picture(width = 30, height = 20, format: 'jpeg' | 'png' = 'jpeg'): Promise<Buffer> {
  const noise = randomBytes(width * height * 3)
  return sharp(noise, { raw: { width, height, channels: 3 } })
    .toFormat(format)
    .toBuffer()
}

/** A multipart body as browsers make it. */
export function multipart(
  files: readonly Sent[],
  boundary = 'x0x0x',
): { headers: Record<string, string>; payload: Buffer } {
  const parts = files.flatMap(({ name, content }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name.replaceAll('"', '%22')}"\r\n` +
        'Content-Type: application/octet-stream\r\n\r\n',
    ),
    content,
    Buffer.from('\r\n'),
  ])
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    payload: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]),
  }
}

export interface Uploaded {
  readonly status: number
  readonly body: Json
}

/** Without renditions, unless the query asks for them. */
export async function upload(
  svc: TestService,
  login: string,
  files: readonly Sent[],
  given: Record<string, unknown> = {},
  method: 'POST' | 'PUT' = 'POST',
): Promise<Uploaded> {
  const query = { produce_versions: 'false', ...given }
  const { headers, payload } = multipart(files)
  const authorization = `Bearer ${await svc.as(login).token()}`
  const text = Object.entries(query).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const answer = await svc.inject({
    method,
    url: `/api/v1/eas/put?${new URLSearchParams(text as [string, string][])}`,
    headers: { ...headers, authorization },
    payload,
  })
  return { status: answer.statusCode, body: answer.json() }
}

/** What an address of ours answers, by its path. */
export async function fetched(
  svc: TestService,
  url: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
) {
  const { pathname, search } = new URL(url)
  const answer = await svc.inject({ method, url: pathname + search, headers })
  return { status: answer.statusCode, headers: answer.headers, content: answer.rawPayload }
}

/** As many small files as said, uploaded by root; their ids are 1 to `count` in a new service. */
export async function someFiles(svc: TestService, count: number): Promise<number[]> {
  const sent = Array.from({ length: count }, (_, index) => ({
    name: `${index + 1}.txt`,
    content: Buffer.from(`${index}`),
  }))
  const { body } = await upload(svc, 'root', sent)
  return body.map((file: Json) => file._id)
}

/** Notes the priorities of the jobs that are enqueued, also of those that are done and gone; `taken` gives them and forgets. */
export async function notePriorities(svc: TestService): Promise<AsyncDisposable & { taken(): Promise<number[]> }> {
  await svc.db.query('create table seen_priority (priority int)')
  await svc.db.query(`create function note_priority() returns trigger language plpgsql as
    $$ begin insert into seen_priority values (new.priority); return new; end $$`)
  // Those of the queue, and those that the service runs by itself.
  for (const table of ['graphile_worker._private_jobs', 'begun_job']) {
    await svc.db.query(`create trigger note after insert on ${table} for each row execute function note_priority()`)
  }
  return {
    async taken() {
      const { rows } = await svc.db.query<{ priority: number }>(
        'with seen as (delete from seen_priority returning priority) select priority from seen order by 1',
      )
      return rows.map(({ priority }) => priority)
    },
    async [Symbol.asyncDispose]() {
      await svc.db.query('drop function note_priority cascade')
      await svc.db.query('drop table seen_priority')
    },
  }
}

/** Users, with their login as password, who may upload files of any kind. */
export async function createUploaders(svc: TestService, ...logins: readonly string[]): Promise<void> {
  const root = svc.as('root')
  const people = logins.map((login) => ({ user: { login }, _password: login }))
  const made = await root.post('/user', people, { confirm: 'ignore_password_requirements' })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const [stored] = (await root.get('/pool/1')).body
  const acl = made.body.map(({ user }: Json) => ({
    who: { _basetype: 'user', user: { _id: user._id } },
    rights: { asset_upload: {} },
  }))
  const saved = await root.post('/pool', [
    { pool: { _id: 1, _version: stored.pool._version }, _acl: [...(stored._acl ?? []), ...acl] },
  ])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
}
