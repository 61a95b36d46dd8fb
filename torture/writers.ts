import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Client } from '../test/support/client.ts'
import { inPool, link, payload } from '../test/support/seed/museum.ts'
import { createRandom, type Random } from './random.ts'
import { apply, type Book, current, isLive, type Open, type State, type Thing } from './record.ts'
import type { Scene } from './scene.ts'

export interface Load {
  /** Prevents new requests and waits for those in progress. */
  stop(): Promise<void>
}

interface Writer {
  readonly name: string
  readonly client: () => Client
  readonly scene: Scene
  readonly book: Book
  readonly random: Random
  readonly own: Thing[]
  /** Objects of an unanswered request: their state is unknown. */
  readonly unsure: Set<Thing>
  count: number
}

/** Statuses after which certainly nothing was done. */
const refusals = [400, 403, 404, 409, 413, 422, 423, 429]

export interface LoadOptions {
  readonly client: () => Client
  readonly scene: Scene
  readonly book: Book
  readonly seed: number
  readonly writers: number
}

/** Several writers and a searcher at once, until stopped. The writers use objects that they have made before. */
export function startLoad({ client, scene, book, seed, writers }: LoadOptions): Load {
  let stopped = false
  const work = async (index: number): Promise<void> => {
    const name = `w${index}`
    const writer: Writer = {
      name: `${name}s${seed}`,
      client,
      scene,
      book,
      random: createRandom(seed * 1000 + index),
      own: book.things.filter((thing) => thing.code.startsWith(`${name}-`)),
      unsure: new Set(),
      count: 0,
    }
    while (!stopped) await step(writer, name)
  }
  const search = async (): Promise<void> => {
    while (!stopped) {
      const answer = await client()
        .post('search', { objecttypes: ['book'], search: [{ type: 'match', string: 'torture' }], limit: 20 })
        .catch(() => null)
      if (answer) note(book, 'search', answer)
      await sleep(50)
    }
  }
  const all = [...Array.from({ length: writers }, (_, index) => work(index)), search()]
  return {
    async stop() {
      stopped = true
      await Promise.all(all)
    },
  }
}

async function step(writer: Writer, prefix: string): Promise<void> {
  const { random } = writer
  const known = writer.own.filter((thing) => !writer.unsure.has(thing))
  const some = (which: (thing: Thing) => boolean): Thing[] => {
    const fitting = known.filter(which)
    const objecttype = random.pick(fitting)?.objecttype
    const picked = Array.from({ length: 1 + random.below(3) }, () => random.pick(fitting))
    return [...new Set(picked)].filter((thing) => thing !== undefined && thing.objecttype === objecttype) as Thing[]
  }
  const dice = random.below(10)
  const live = some((thing) => isLive(thing))
  const spare = some((thing) => isLive(thing) && thing.objecttype === 'book')
  const trash = some((thing) => !thing.purged && !isLive(thing))
  if (dice < 4 || known.length < 6) await create(writer, prefix)
  else if (dice < 7 && live.length > 0) await update(writer, live)
  else if (dice < 8 && spare.length > 0) await remove(writer, spare, 'remove')
  else if (dice < 9 && trash.length > 0) await remove(writer, trash, 'undelete')
  else if (random.oneIn(3) && trash.length > 0) await remove(writer, trash, 'purge')
}

function nextState(writer: Writer, objecttype: Thing['objecttype'], operation: 'i' | 'u'): State {
  const { scene, random, book } = writer
  const authors = book.things.filter((thing) => thing.objecttype === 'author' && isLive(thing))
  const author = objecttype === 'book' ? (random.pick(authors)?.systemObjectId ?? null) : null
  const tags = random.oneIn(2) ? [scene.tags.checked, scene.tags.wanted] : [scene.tags.checked]
  return { operation, mark: `${writer.name}n${writer.count++}`, author, tags: tags.sort((a, b) => a - b) }
}

function wire({ scene }: Writer, thing: Thing, state: State): object {
  const stored = thing.versions.length > 0 ? { _id: thing.id, _version: thing.versions.length } : {}
  const author = state.author === null ? {} : { author: link('author', state.author) }
  const block = { ...stored, ...inPool(scene.pool), mark: `torture ${state.mark}`, code: thing.code, ...author }
  const wanted = state.tags.includes(scene.tags.wanted) ? [{ _id: scene.tags.wanted }] : []
  return payload(thing.objecttype, block, { _tags: wanted })
}

async function create(writer: Writer, prefix: string): Promise<void> {
  const objecttype = writer.random.oneIn(8) || writer.count < 2 ? 'author' : 'book'
  const things = Array.from({ length: 1 + writer.random.below(3) }, (): Thing => {
    const code = `${prefix}-${writer.name}-${writer.count++}`
    return { objecttype, code, versions: [], id: 0, systemObjectId: 0, purged: false }
  })
  const next = things.map(() => nextState(writer, objecttype, 'i'))
  writer.book.things.push(...things)
  const answer = await send(writer, { things, next }, (body) => writer.client().post(`db/${objecttype}`, body))
  if (answer?.status !== 200) return
  const taken = new Set(writer.book.things.map((thing) => thing.systemObjectId))
  for (const [index, thing] of things.entries()) {
    const object = answer.body[index]
    if (taken.has(object._system_object_id)) writer.book.faults.push(`id ${object._system_object_id} is used again`)
    thing.systemObjectId = object._system_object_id
    thing.id = object[objecttype]._id
  }
  writer.own.push(...things)
}

async function update(writer: Writer, things: readonly Thing[]): Promise<void> {
  const objecttype = things[0]?.objecttype as Thing['objecttype']
  const next = things.map(() => nextState(writer, objecttype, 'u'))
  await send(writer, { things, next }, (body) => writer.client().post(`db/${objecttype}`, body))
}

async function remove(
  writer: Writer,
  things: readonly Thing[],
  policy: 'remove' | 'undelete' | 'purge',
): Promise<void> {
  const objecttype = things[0]?.objecttype
  const triples = things.map((thing) => [thing.id, thing.versions.length, null])
  const next = things.map((thing) =>
    policy === 'purge' ? null : { ...current(thing), operation: policy === 'remove' ? ('d' as const) : ('r' as const) },
  )
  await send(writer, { things, next }, () =>
    writer.client().delete(`db/${objecttype}`, triples, { delete_policy: policy }),
  )
}

/** Sends one request; its answer is noted in the record; null without an answer. */
async function send(
  writer: Writer,
  wanted: Open,
  request: (body: object[]) => Promise<Answer>,
): Promise<Answer | null> {
  const { book, unsure } = writer
  const body = wanted.things.flatMap((thing, index) => {
    const state = wanted.next[index]
    return state ? [wire(writer, thing, state)] : []
  })
  for (const thing of wanted.things) book.touched.add(thing)
  const answer = await request(body).catch(() => null)
  if (answer) note(book, 'write', answer)
  if (answer?.status === 200) {
    apply(wanted)
    book.acknowledged++
  } else if (!answer || !refusals.includes(answer.status)) {
    book.open.push(wanted)
    for (const thing of wanted.things) unsure.add(thing)
    await sleep(200)
  } else if (answer.status !== 423) {
    // In general, another user may have removed the author; here none does, so every refusal except for a lock is a
    // fault.
    book.faults.push(`refused: ${JSON.stringify(answer.body).slice(0, 300)}`)
  }
  return answer
}

/** Notes answers that are always wrong, whatever happens to the service. */
function note(book: Book, what: string, answer: Answer): void {
  if (answer.status < 500 || answer.status === 503) return
  book.faults.push(`${what} answered ${answer.status}: ${JSON.stringify(answer.body).slice(0, 300)}`)
}
