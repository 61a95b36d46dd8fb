import assert from 'node:assert/strict'
import { ok } from '../collections/support.ts'
import { picture, upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { commitModel, standardPool } from '../support/seed/model.ts'
import { inPool, type Museum, museum, payload } from '../support/seed/museum.ts'
import { startService, type TestServiceOptions } from '../support/service.ts'

export interface Scene extends Museum {
  /** For root only. */
  readonly vault: number
  /** What `/objects/<path>` answers; without a token when the login is null. */
  open(path: string, login?: string | null, more?: OpenOptions): Promise<Opened>
  /** Rights on the pool by login; others have none. */
  grant(rights: Record<string, object>): Promise<void>
  /** Changes `deep_link_access`; what is not said is its default. */
  access(settings: object): Promise<void>
  /** A work with pictures in its column, as root reads it. */
  work(block: object, pictures?: readonly Json[], more?: object): Promise<Json>
  /** Uploaded pictures as records. */
  pictures(count: number): Promise<Json[]>
}

export interface OpenOptions {
  readonly headers?: Record<string, string>
  readonly method?: 'GET' | 'HEAD'
}

export interface Opened {
  readonly status: number
  readonly code: string | undefined
  readonly headers: Record<string, unknown>
  readonly content: Buffer
  readonly json: () => Json
}

export const everything = { enabled: true, allow_access_by_id: true, allow_access_by_column: true }

/** The museum with deep links to it, for the users `reader` and `viewer` and for callers without a token. */
export async function startDeepLinks(options: TestServiceOptions = {}): Promise<Scene> {
  const { svc, pool, [Symbol.asyncDispose]: end } = await start(options)
  const root = svc.as('root')
  const people: Record<string, number> = { deep_link: 2 }
  for (const login of ['reader', 'viewer']) {
    const [{ user }] = ok(
      await root.post('/user', [{ user: { login }, _password: login }], { confirm: 'ignore_password_requirements' }),
    )
    people[login] = user._id
  }
  const vault = { pool: { _id_parent: pool, reference: 'vault', name: { 'en-US': 'Vault' } }, _private_acl: true }
  const [made] = ok(await root.post('/pool', [vault]))
  let reference = 0
  return {
    svc,
    pool,
    [Symbol.asyncDispose]: end,
    vault: made.pool._id,
    async open(path, login = null, { headers = {}, method = 'GET' } = {}) {
      const token = login === null ? {} : { authorization: `Bearer ${await svc.as(login).token()}` }
      const answer = await svc.inject({ method, url: `/api/v1/objects/${path}`, headers: { ...token, ...headers } })
      const { rawPayload: content } = answer
      const failed = answer.statusCode >= 400 && content.length > 0
      return {
        status: answer.statusCode,
        code: failed ? JSON.parse(content.toString()).code : undefined,
        headers: answer.headers,
        content,
        json: () => JSON.parse(content.toString()),
      }
    },
    async grant(rights) {
      const [stored] = ok(await root.get(`/pool/${pool}`))
      const _acl = Object.entries(rights).map(([login, given]) => ({
        who: { _basetype: 'user', user: { _id: people[login] } },
        rights: given,
      }))
      ok(await root.post('/pool', [{ pool: { _id: pool, _version: stored.pool._version }, _acl }]))
    },
    async access(settings) {
      ok(await root.delete('/config/system/config/deep_link_access'))
      ok(await root.post('/config/system/config/deep_link_access', settings))
    },
    async work(block, pictures = [], more = {}) {
      const image = pictures.map(({ _id }, index) => ({ _id, preferred: index === 1 }))
      const content = { ...inPool(pool), ...(image.length > 0 ? { image } : {}), ...block }
      const [saved] = ok(await root.post('/db/work', [payload('work', content, { _mask: 'work__standard', ...more })]))
      return saved
    },
    async pictures(count) {
      const files = []
      for (let n = 0; n < count; n++) files.push({ name: `view ${++reference}.jpg`, content: await picture() })
      const { status, body } = await upload(svc, 'root', files)
      assert.equal(status, 200, JSON.stringify(body))
      return body
    },
  }
}

/** The museum whose works are shown by their pictures. */
async function start(options: TestServiceOptions): Promise<Museum> {
  const model = museum()
  const { tables } = model.schema as Json
  const work = tables.find(({ name }: Json) => name === 'work')
  const image = work.columns.find(({ name }: Json) => name === 'image')
  const { masks } = model.masks as Json
  const mask = masks.find(({ name }: Json) => name === 'work__standard')
  const field = mask.fields.find(({ column_id }: Json) => column_id === image.column_id)
  field.output.standard_eas = { order: 1 }
  const svc = await startService(options)
  await commitModel(svc, model)
  return { svc, pool: await standardPool(svc), [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose]() }
}
