import assert from 'node:assert/strict'
import { seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

type Options = Parameters<typeof startService>[0]

/** A service with a type `photo`, a pool that the editor works in, and both shares switched on. */
export async function startDrives(options: Options = {}, more: Record<string, object> = {}) {
  const svc = await startService(options)
  await commitModel(
    svc,
    defineModel({
      photo: {
        columns: { title: 'text_oneline', files: 'text', image: 'eas' },
        flags: { pool_link: true, has_tags: true },
      },
      ...more,
    } as Parameters<typeof defineModel>[0]),
  )
  const { ids } = await seedPeople(svc)
  const rights = 'bag_read read link mask create write delete asset_upload asset_show asset_download'
  const made = await svc.as('root').post('/pool', [
    {
      pool: { _id_parent: await standardPool(svc), name: { 'en-US': 'Open' } },
      _acl: [wireGrant(toUser(ids.editor as number), rights)],
    },
  ])
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const pool: number = made.body[0].pool._id
  const base = await svc.listen()
  await setShares(svc, { read_write_access: true, hotfolder: true, hotfolder_wait_sec: 1 })
  let count = 0
  return {
    svc,
    pool,
    ids,
    base,
    async collection(settings: object = {}, login = 'editor'): Promise<Collected> {
      const create_object = { objecttype: 'photo', eas_field: 'image', pool_id: pool, ...settings }
      const { status, body } = await svc
        .as(login)
        .post('/collection', { collection: { displayname: { 'en-US': `Drop ${count++}` }, create_object } })
      assert.equal(status, 200, JSON.stringify(body))
      const url = (type: string): string => {
        const address = body._hotfolder_upload_urls.find((one: Json) => one.type === type)
        return address ? base + new URL(address.url).pathname : ''
      }
      return {
        id: body.collection._id,
        uuid: body.collection.uuid,
        drive: url('webdav'),
        hotfolder: url('webdav-hotfolder'),
        body,
      }
    },
  }
}

export interface Collected {
  readonly id: number
  readonly uuid: string
  /** Addresses with a slash at the end; empty where the share is switched off. */
  readonly drive: string
  readonly hotfolder: string
  readonly body: Json
}

export async function setShares(svc: TestService, webdav: object): Promise<void> {
  const { status, body } = await svc.as('root').post('/config', { system: { config: { webdav } } })
  assert.equal(status, 200, JSON.stringify(body))
}

export interface Dav {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export async function ask(
  url: string,
  method: string,
  headers: Record<string, string> = {},
  body?: string | Buffer,
): Promise<Dav> {
  const answer = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(body)) }),
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** The names that an answer to PROPFIND lists. */
export const hrefs = (xml: string): string[] =>
  [...xml.matchAll(/<D:response><D:href>([^<]*)</g)].map(([, href = '']) =>
    decodeURIComponent(href.replace(/\/$/, '').split('/').at(-1) ?? ''),
  )

export const lockBody =
  '<?xml version="1.0"?><d:lockinfo xmlns:d="DAV:"><d:lockscope><d:exclusive/></d:lockscope><d:locktype><d:write/></d:locktype><d:owner>Ada</d:owner></d:lockinfo>'

/** The objects of a collection with the names of their files, in the order of its list. */
export async function namesIn(svc: TestService, collectionId: number): Promise<string[][]> {
  const { rows } = await svc.db.query<{ names: string[] }>(
    `select array_agg(f.filepath order by f.id) as names from collection_object e
       join file_use u on u.system_object_id = e.object_id and u.latest join file f on f.id = u.file_id
     where e.collection_id = $1 group by e.object_id, e.rank order by e.rank`,
    [collectionId],
  )
  return rows.map(({ names }) => names)
}
