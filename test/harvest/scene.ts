import assert from 'node:assert/strict'
import { XmlDocument } from 'libxml2-wasm'
import { createNotes, type Scene as Notes, ok, startScene as startNotes } from '../collections/support.ts'
import { seedTag, toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import type { TestServiceOptions } from '../support/service.ts'

/** Whose rights harvesters have. */
export const harvester = 3

export interface Scene extends Notes {
  /** Notes in the pool that harvesters may read. */
  readonly notes: readonly number[]
  readonly tag: number
}

/** A service that is harvested: five notes in a pool that harvesters may read, and two in one that they may not. */
export async function startScene(oai: object = {}, options: TestServiceOptions = {}): Promise<Scene> {
  const scene = await startNotes(options)
  await grant(scene, 'bag_read read mask')
  const notes = await createNotes(scene.root, scene.pool, 5)
  await createNotes(scene.root, scene.vault, 2, 'v')
  const tag = await seedTag(scene.root)
  await configure(scene, oai)
  await scene.svc.drain()
  return { ...scene, notes, tag }
}

export async function configure({ root }: Pick<Notes, 'root'>, oai: object): Promise<void> {
  ok(await root.post('/config/system/config/oai_pmh', { enabled: true, ...oai }))
}

/** What harvesters may do in the pool; '': nothing. */
export async function grant(
  { root, pool }: Pick<Notes, 'root' | 'pool'>,
  rights: string,
  more: object = {},
): Promise<void> {
  const [stored] = ok(await root.get(`/pool/${pool}`))
  const others = stored._acl.filter((one: Json) => one.who.user?._id !== harvester)
  const _acl = [...others, ...(rights === '' ? [] : [wireGrant(toUser(harvester), rights, more)])]
  ok(await root.post('/pool', [{ pool: { _id: pool, _version: stored.pool._version }, _acl }]))
}

export interface Header {
  readonly identifier: string
  readonly datestamp: string
  readonly deleted: boolean
  readonly sets: readonly string[]
}

export interface Answered {
  readonly status: number
  readonly text: string
  /** Codes of errors. */
  readonly errors: readonly string[]
  readonly date: string
  readonly headers: readonly Header[]
  /** Null: there is no such element. */
  readonly token: string | null
  readonly attributes: Readonly<Record<string, string>>
}

type Arguments = Readonly<Record<string, string | number | undefined>>

/** Asks as a harvester does, and reads the answer with another parser. */
export async function ask({ svc }: Pick<Notes, 'svc'>, given: Arguments, form = false): Promise<Answered> {
  const query = new URLSearchParams(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, `${value}`]])),
  ).toString()
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await svc.inject(
    form
      ? { method: 'POST', url: '/api/v1/oai', headers: type, payload: query }
      : { method: 'GET', url: `/api/v1/oai${query === '' ? '' : `?${query}`}` },
  )
  assert.match(String(answer.headers['content-type']), /^text\/xml/, answer.body)
  return read(answer.statusCode, answer.body)
}

const names = { o: 'http://www.openarchives.org/OAI/2.0/' }

export function read(status: number, text: string): Answered {
  const document = XmlDocument.fromString(text)
  try {
    const all = (path: string, from: Json = document.root): Json[] => from.find(path, names)
    const textOf = (path: string, from: Json = document.root): string => all(path, from)[0]?.content ?? ''
    const token = all('//o:resumptionToken')[0]
    return {
      status,
      text,
      errors: all('//o:error/@code').map(({ content }) => content),
      date: textOf('//o:responseDate'),
      headers: all('//o:header').map((header) => ({
        identifier: textOf('o:identifier', header),
        datestamp: textOf('o:datestamp', header),
        deleted: textOf('@status', header) === 'deleted',
        sets: all('o:setSpec', header).map(({ content }) => content),
      })),
      token: token ? token.content : null,
      attributes: token ? Object.fromEntries(token.attrs.map((one: Json) => [one.name, one.value])) : {},
    }
  } finally {
    document.dispose()
  }
}

/** A whole list, page after page. */
export async function harvest(scene: Pick<Notes, 'svc'>, given: Arguments): Promise<readonly Answered[]> {
  const answers = [await ask(scene, given)]
  for (let last = answers[0]; last?.token; last = answers.at(-1)) {
    answers.push(await ask(scene, { verb: given.verb as string, resumptionToken: last.token }))
  }
  return answers
}
