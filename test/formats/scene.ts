import assert from 'node:assert/strict'
import type { FormatOptions } from '../../src/formats/options.ts'
import type { ObjectSource } from '../../src/formats/source.ts'
import type { Actor } from '../../src/platform/actor.ts'
import type { Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import type { TestService } from '../support/service.ts'

export const asActor = (userId: number, login: string, more: Partial<Actor> = {}): Actor => ({
  userId,
  login,
  displayname: login,
  reference: null,
  groupIds: [],
  isRoot: false,
  systemRights: new Map(),
  remoteAddr: '',
  languages: ['en-US', 'de-DE'],
  session: null,
  ...more,
})
export const actingRoot = asActor(1, 'root', { isRoot: true })

/** The document of these objects as text. */
export async function written(
  svc: TestService,
  format: string,
  objects: ObjectSource,
  options: FormatOptions = {},
  actor: Actor = actingRoot,
): Promise<string> {
  return (await writtenBytes(svc, format, objects, options, actor)).toString('utf8')
}

export async function writtenBytes(
  svc: TestService,
  format: string,
  objects: ObjectSource,
  options: FormatOptions = {},
  actor: Actor = actingRoot,
): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(svc.app.formats.write(actor, { format, objects, options })))
}

export interface Scene extends Museum {
  readonly artist: number
  readonly patron: number
  /** A work with a value of every kind. */
  readonly work: number
  /** The same with nothing but a title. */
  readonly bare: number
  readonly country: number
  readonly city: number
  readonly topics: readonly number[]
  readonly loan: number
}

export const refs = (...ids: readonly number[]) => ids.map((systemObjectId) => ({ systemObjectId }))

/** Objects of the museum that have all kinds of values, links, rows and places in hierarchies. */
export async function startScene(): Promise<Scene> {
  const museum = await startMuseum()
  const root = museum.svc.as('root')
  const create = async (type: string, block: object, rest: object = {}): Promise<number> => {
    const { status, body } = await root.post(`/db/${type}`, [payload(type, block, rest)])
    assert.equal(status, 200, JSON.stringify(body))
    return (body as Json)[0]._system_object_id
  }
  const artist = await create('person', {
    name: 'Ada <Lovelace> & "Co"',
    reference: 'ada',
    born: { value: '1815-12-10' },
  })
  const patron = await create('person', {
    name: 'Bo',
    '_nested:person__influence': [{ person: link('person', artist), active: true }],
  })
  const country = await create('place', { name: { 'en-US': 'Switzerland', 'de-DE': 'Schweiz' }, code: 'CH' })
  const { body: places } = await root.get(`/db/place/_all_fields/system_object_id/${country}`)
  const city = await create('place', {
    name: { 'en-US': 'Zurich', 'de-DE': 'Zürich' },
    _id_parent: places[0].place._id,
  })
  const topics = [await create('topic', { name: 'Lakes' }), await create('topic', { name: '=1+1' })]
  const work = await create(
    'work',
    {
      title: { 'en-US': 'The lake\r\nat dawn', 'de-DE': '=HYPERLINK("http://evil.example";"Der See")' },
      inventory: 'A1',
      note: 'tab\tquote " comma, semicolon; <b>markup</b> &amp; 中文 😀',
      width: 9007199254740991,
      price: -7,
      weight: 1.5e-7,
      signed: true,
      made: { value: '1851' },
      seen: { value: '2020-05-17T10:11:12+02:00' },
      period: { from: '1851', to: '1852-05', text: { 'en-US': 'about then' } },
      location: { type: 'Point', coordinates: [8.5, 47.3] },
      vocabulary: { conceptName: 'dawn', conceptURI: 'http://example.org/1' },
      creator: link('person', artist),
      place: link('place', city),
      '_nested:work__material': [
        {
          name: 'oil',
          amount: 2,
          origin: link('place', country),
          '_nested:work__material__supplier': [{ person: link('person', patron) }],
        },
        { name: 'canvas' },
      ],
      '_nested:work__topic': topics.map((topic) => ({ topic: link('topic', topic) })),
    },
    inPool(museum.pool),
  )
  const bare = await create('work', { title: { 'en-US': 'Bare' } }, inPool(museum.pool))
  const loan = await create('loan', { borrower: '@Museum', due: { value: '2026-12-01' }, work: link('work', work) })
  return { ...museum, artist, patron, work, bare, country, city, topics, loan }
}
