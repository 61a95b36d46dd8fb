import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { createCollection, entriesOf, ok } from '../collections/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { ask, grant, harvester, type Scene, startScene } from './scene.ts'

/** What there is, as far as it matters to harvesters. */
interface Note {
  readonly id: number
  readonly uuid: string
  title: string
  version: number
  isOpen: boolean
  isTagged: boolean
  isListed: boolean
  isDeleted: boolean
}

interface World {
  readonly it: Scene
  readonly notes: Note[]
  readonly collection: number
  isGranted: boolean
  titles: number
}

/** A harvester that keeps what it is told, by identifier: the title, and the set that it asks for. */
class Harvester {
  readonly records = new Map<string, string>()
  readonly #it: Scene
  readonly #set: string | null
  /** The date of the first answer of a list, or of the last one: both are to be enough. */
  readonly #takes: 'first' | 'last'
  #from: string | null = null
  #next = ''
  #token: string | null = null

  constructor(it: Scene, set: string | null, takes: 'first' | 'last') {
    this.#it = it
    this.#set = set
    this.#takes = takes
  }

  /** One answer. @returns whether the list has ended */
  async page(): Promise<boolean> {
    const resumed = this.#token !== null
    const answer = await ask(
      this.#it,
      resumed
        ? { verb: 'ListRecords', resumptionToken: this.#token as string }
        : {
            verb: 'ListRecords',
            metadataPrefix: 'oai_dc',
            limit: 2,
            ...(this.#from === null ? {} : { from: this.#from }),
            ...(this.#set === null ? {} : { set: this.#set }),
          },
    )
    assert.equal(answer.status, 200, answer.text)
    assert.ok(answer.errors.length === 0 || answer.errors[0] === 'noRecordsMatch', answer.text)
    if (!resumed || this.#takes === 'last') this.#next = answer.date
    const titles = [...answer.text.matchAll(/<record>.*?<\/record>/gs)].map(
      ([record]) => /<dc:title[^>]*>([^<]*)/.exec(record)?.[1] ?? '',
    )
    for (const [index, { identifier, deleted, datestamp }] of answer.headers.entries()) {
      if (this.#from !== null) assert.ok(datestamp >= this.#from)
      if (deleted) this.records.delete(identifier)
      else this.records.set(identifier, titles[index] as string)
    }
    this.#token = answer.token || null
    if (this.#token === null) this.#from = this.#next
    return this.#token === null
  }

  async all(): Promise<void> {
    while (!(await this.page()));
  }
}

const nats = fc.nat(1000)
const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('edit' as const), note: nats }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('create' as const), note: nats }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('move' as const), note: nats }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('tag' as const), note: nats }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('list' as const), note: nats }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('delete' as const), note: nats }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('grant' as const), note: nats }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant('page' as const), note: nats }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('drain' as const), note: nats }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('later' as const), note: nats }) },
)
/** Told, and then changed after a while. */
const firstOfAll = (['page', 'later', 'edit'] as const).map((does) => ({ does, note: 0 }) as Drawn)
type Drawn = typeof command extends fc.Arbitrary<infer One> ? One : never
type Command = { readonly does: string; readonly note: number }

const save = async (world: World, note: Note, more: object): Promise<void> => {
  const { pool, vault, root } = world.it
  const body = {
    _objecttype: 'note',
    _mask: 'note__standard',
    _pool: { pool: { _id: note.isOpen ? pool : vault } },
    _tags: note.isTagged ? [{ _id: world.it.tag }] : [],
    note: { _id: note.id, _version: note.version, title: note.title, ...more },
  }
  const [saved] = ok(await root.post('/db/note', [body]))
  note.version = saved.note._version
}

async function create(world: World, isOpen: boolean): Promise<void> {
  const { pool, vault, root } = world.it
  const title = `t${++world.titles}`
  const body = {
    _objecttype: 'note',
    _mask: 'note__standard',
    _pool: { pool: { _id: isOpen ? pool : vault } },
    note: { title, code: title },
  }
  const [saved] = ok(await root.post('/db/note', [body]))
  const { _uuid: uuid, note } = saved
  world.notes.push({
    id: note._id,
    uuid,
    title,
    version: 1,
    isOpen,
    isTagged: false,
    isListed: false,
    isDeleted: false,
  })
}

async function run(world: World, harvesters: readonly Harvester[], { does, note: number }: Command): Promise<void> {
  const { it } = world
  const there = world.notes.filter(({ isDeleted }) => !isDeleted)
  const note = there[number % Math.max(there.length, 1)]
  if (does === 'page') return void (await (harvesters[number % harvesters.length] as Harvester).page())
  if (does === 'drain') return it.svc.drain()
  if (does === 'later') {
    // All that was told by now was told long ago: a harvest since then has only what is new. Nothing may be told meanwhile, or
    // some would have heard of it and others not.
    await it.svc.drain()
    for (const harvester of harvesters) await harvester.all()
    await it.svc.db.query(`update harvest_record set moment = moment - interval '10 seconds'`)
    return
  }
  if (does === 'create') return create(world, number % 3 > 0)
  if (does === 'grant') {
    world.isGranted = !world.isGranted
    return grant(it, world.isGranted ? 'bag_read read mask' : '')
  }
  if (!note) return
  if (does === 'edit') note.title = `t${++world.titles}`
  if (does === 'move') note.isOpen = !note.isOpen
  if (does === 'tag') note.isTagged = !note.isTagged
  if (does === 'edit' || does === 'move' || does === 'tag') return save(world, note, {})
  const systemId = ok(await it.root.get(`/db/note/_all_fields/${note.id}`))[0]._system_object_id
  if (does === 'list') {
    note.isListed = !note.isListed
    const objects = entriesOf(it.svc, [systemId])
    if (note.isListed) ok(await it.root.post(`/collection/push/${world.collection}`, { objects }))
    else ok(await it.root.post(`/collection/remove/${world.collection}`, objects))
    return
  }
  note.isDeleted = true
  ok(await it.root.delete('/db/note', [[note.id, note.version]], { delete_policy: 'remove' }))
}

const expected = (world: World, isIn: (note: Note) => boolean): Json =>
  Object.fromEntries(
    world.notes
      .filter((note) => world.isGranted && note.isOpen && !note.isTagged && !note.isDeleted && isIn(note))
      .map(({ uuid, title }) => [`oai:${uuid}`, title])
      .toSorted(),
  )

suite('what harvesters have gathered', () => {
  test('after random saves, moves, tags, lists, deletions and changes of rights it is what they may see', async () => {
    await using it = await startScene()
    ok(await it.root.post('/config/system/config/oai_pmh', { enabled: true, tagfilter_deleted: { any: [it.tag] } }))
    const _acl = [wireGrant(toUser(harvester), 'bag_read')]
    const collection = await createCollection(it.root, { displayname: { 'en-US': 'List' } }, { _acl })
    const listed = await ask(it, { verb: 'ListSets' })
    const setOf = (name: string): string =>
      listed.text
        .split(`<setName>${name}<`)[0]
        ?.split(/<\/?setSpec>/)
        .at(-2) ?? ''
    const sets = [null, null, 'objecttype:note', setOf('Open'), setOf('List')]
    assert.match(sets.join(), /pool:[\d:]+,collection:[\d:]+$/)
    const first = ok(await it.root.get('/db/note/_all_fields/list')).map(({ note }: Json) => [note._id, note._version])
    ok(await it.root.delete('/db/note', first, { delete_policy: 'remove' }))
    let titles = 0
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 30, maxLength: 50 }), async (commands) => {
        const world: World = { it, notes: [], collection: collection._id, isGranted: true, titles }
        await grant(it, 'bag_read read mask')
        for (const isOpen of [true, true, false]) await create(world, isOpen)
        const harvesters = sets.map((set, index) => new Harvester(it, set, index % 2 === 0 ? 'first' : 'last'))
        for (const one of commands) await run(world, harvesters, one)
        await it.svc.drain()
        for (const [index, harvester] of harvesters.entries()) {
          // What was begun before comes to its end, and then there is a harvest that begins now.
          await harvester.all()
          await harvester.all()
          const found = Object.fromEntries([...harvester.records].toSorted())
          const isIn = (note: Note): boolean => index < 4 || note.isListed
          assert.deepEqual(found, expected(world, isIn), `${sets[index]} after ${JSON.stringify(commands)}`)
        }
        titles = world.titles
        const left = world.notes.filter(({ isDeleted }) => !isDeleted).map(({ id, version }) => [id, version])
        if (left.length > 0) ok(await it.root.delete('/db/note', left, { delete_policy: 'remove' }))
      }),
      { numRuns: Number(process.env.HARVESTS ?? 3), endOnFailure: true, examples: [[firstOfAll]] },
    )
  })
})
