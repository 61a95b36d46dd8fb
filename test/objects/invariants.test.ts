import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../support/client.ts'
import { invariants } from '../support/invariants.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/**
 * Any sequence of saves, deletes, restores and purges keeps what the stored objects promise each other. The commands
 * are drawn at random over a few objects, so that they meet; what a command may not do is refused, and a refusal is
 * as good as a success.
 */
let museum: Museum
before(async () => {
  museum = await startMuseum()
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')

interface Known {
  readonly objecttype: 'person' | 'place' | 'topic' | 'work'
  readonly systemObjectId: number
  readonly id: number
}

type Command = (known: Known[]) => Promise<void>

const pick = (known: readonly Known[], objecttype: Known['objecttype'], n: number): Known | undefined => {
  const some = known.filter((object) => object.objecttype === objecttype)
  return some.length > 0 ? some[n % some.length] : undefined
}

const n = fc.nat({ max: 50 })
const objecttype = fc.constantFrom<Known['objecttype']>('person', 'place', 'topic', 'work')

function blockOf(known: readonly Known[], type: Known['objecttype'], a: number, b: number): object {
  const person = pick(known, 'person', a)
  const place = pick(known, 'place', b)
  const topics = [pick(known, 'topic', a), pick(known, 'topic', b)].filter((topic) => topic !== undefined)
  const toPerson = person ? link('person', person.systemObjectId) : null
  const toPlace = place ? link('place', place.systemObjectId) : null
  switch (type) {
    case 'person':
      return {
        name: `P${a}`,
        reference: `r${a}`,
        ...(toPerson ? { '_nested:person__influence': [{ person: toPerson, note: `n${b}` }] } : {}),
      }
    case 'place':
      return { name: { 'en-US': `Place ${a}` }, code: `c${b}`, _id_parent: place?.id ?? null }
    case 'topic':
      return { name: `T${a}`, _parents: topics.map((topic) => ({ _system_object_id: topic.systemObjectId })) }
    case 'work':
      return {
        ...inPool(museum.pool),
        title: { 'en-US': `Work ${a}` },
        creator: toPerson,
        place: toPlace,
        '_nested:work__material': [{ name: `m${a}`, origin: toPlace }],
        '_nested:work__topic': topics.map((topic) => ({ topic: link('topic', topic.systemObjectId) })),
        '_reverse_nested:loan:work': b % 3 === 0 ? [payload('loan', { borrower: `B${b}` })] : [],
      }
  }
}

const create = fc.tuple(objecttype, n, n).map(
  ([type, a, b]): Command =>
    async (known) => {
      const answer = await root().post(`/db/${type}`, [payload(type, blockOf(known, type, a, b))], { format: 'short' })
      if (answer.status !== 200) return refused(answer)
      const [object] = answer.body
      known.push({ objecttype: type, systemObjectId: object._system_object_id, id: object[type]._id })
    },
)

const update = fc.tuple(objecttype, n, n, n).map(
  ([type, which, a, b]): Command =>
    async (known) => {
      const target = pick(known, type, which)
      const version = target && (await versionOf(target))
      if (!target || !version) return
      const block = { ...blockOf(known, type, a, b), _id: target.id, _version: version }
      refused(await root().post(`/db/${type}`, [payload(type, block)], { format: 'short' }))
    },
)

const remove = fc.tuple(objecttype, n, fc.constantFrom('setnull', 'remove', 'undelete', 'purge')).map(
  ([type, which, policy]): Command =>
    async (known) => {
      const target = pick(known, type, which)
      const version = target && (await versionOf(target))
      if (!target || !version) return
      refused(await root().delete(`/db/${type}`, [[target.id, version, null]], { delete_policy: policy }))
    },
)

/** What may not be done is refused with a 4xx; nothing else may go wrong. */
function refused(answer: { status: number; body: Json }): void {
  assert.ok(answer.status < 500, JSON.stringify(answer.body))
}

async function versionOf(object: Known): Promise<number | undefined> {
  const { rows } = await museum.svc.db.query<{ version: number }>(
    'select version from object where system_object_id = $1',
    [object.systemObjectId],
  )
  return rows[0]?.version
}

async function none(what: string, text: string): Promise<void> {
  const { rows } = await museum.svc.db.query(text)
  assert.deepEqual(rows, [], what)
}

async function checkInvariants(): Promise<void> {
  for (const [what, text] of Object.entries(invariants)) await none(what, text)
  await none(
    'two live objects share a unique value',
    `select v.content from object o join object_version v using (system_object_id, version)
     where o.deleted_at is null and o.objecttype = (select id from objecttype where name = 'person')
     group by v.content, v.content -> '2' having count(*) > 1 and v.content -> '2' is not null`,
  )
  await linksAgree()
}

/** The rows in object_link are exactly the links in the contents; both sides of bidirectional links agree. */
async function linksAgree(): Promise<void> {
  const { rows } = await museum.svc.db.query<{
    id: number
    content: Record<string, unknown>
    links: string[]
    deleted: boolean
  }>(
    `select o.system_object_id as id, v.content, o.deleted_at is not null as deleted,
            array(select l.column_id || ':' || l.to_id from object_link l where l.from_id = o.system_object_id) as links
     from object o join object_version v using (system_object_id, version)`,
  )
  const gone = await museum.svc.db.query<{ id: number }>('select system_object_id as id from object_tombstone')
  const purged = new Set(gone.rows.map((row) => row.id))
  const schema = (await root().get('/schema/user/CURRENT')).body
  const linkColumns = new Set<number>(
    schema.tables.flatMap((table: Json) =>
      table.columns.filter((column: Json) => column.type === 'link').map((column: Json) => column.column_id),
    ),
  )
  const influence = schema.tables.find((table: Json) => table.name === 'person__influence')
  const [column] = influence.columns
  const pairs = new Set<string>()
  for (const row of rows) {
    const found = new Set<string>()
    collect(row.content, linkColumns, found)
    const resolvable = [...found].filter((name) => !purged.has(Number(name.split(':')[1])))
    assert.deepEqual(resolvable.sort(), [...row.links].sort(), `links of ${row.id}`)
    if (row.deleted) continue
    for (const entry of (row.content[`n${influence.table_id}`] as Record<string, number>[] | undefined) ?? []) {
      pairs.add(`${row.id}>${entry[column.column_id]}`)
    }
  }
  for (const pair of pairs) {
    const [from, to] = pair.split('>')
    assert.ok(from === to || pairs.has(`${to}>${from}`), `no link back for ${pair}`)
  }
}

function collect(content: Record<string, unknown>, columns: ReadonlySet<number>, found: Set<string>): void {
  for (const [key, value] of Object.entries(content)) {
    if (columns.has(Number(key)) && typeof value === 'number') found.add(`${key}:${value}`)
    if (key.startsWith('n')) for (const row of value as Record<string, unknown>[]) collect(row, columns, found)
  }
}

test('any sequence of saves, deletes, restores and purges keeps the invariants', async () => {
  const known: Known[] = []
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(create, create, update, remove), { minLength: 5, maxLength: 25 }),
      async (commands) => {
        for (const command of commands) await command(known)
        await checkInvariants()
      },
    ),
    { numRuns: 60, seed: 20261121, endOnFailure: true },
  )
  assert.ok(known.length > 50, 'the sequences created objects')
})
