import assert from 'node:assert/strict'
import type { Answer } from '../../support/client.ts'
import { isOf } from './knowledge.ts'
import type { Column, Field, Mask } from './model.ts'
import { type Asking, plain } from './reads.ts'
import { seenOf } from './seen.ts'
import { createShow } from './shown.ts'
import { maskNames } from './wire.ts'
import { linksOf, type TagRule, type Thing, tagRules } from './world.ts'

/** Saves and deletions that are only tried: what they answer, and what they tell by being refused. */

export async function askWrites(asking: Asking): Promise<void> {
  const { world, pick } = asking
  for (const thing of world.things) {
    const mask = pick(maskNames(thing.type))
    await trySave(asking, thing, mask)
    await tryDelete(asking, thing, undefined)
    await tryDelete(asking, thing, pick(['setnull', 'remove'] as const))
    await tryLink(asking, thing)
    await tryLookup(asking, thing)
    await tryTags(asking, thing)
  }
}

/** An object is named by a value of its own: found by it are those alone where the caller knows the value. */
async function tryLookup(asking: Asking, { type, values }: Thing): Promise<void> {
  const { client, world, who, pick } = asking
  const columns = type.table.columns.filter((column) => isLookedUp(column) && values.has(column))
  if (columns.length === 0) return
  const column = pick(columns)
  const value = values.get(column)
  const body = { _objecttype: type.name, _mask: pick(maskNames(type)).name }
  const block = { 'lookup:_id': { [column.name]: value } }
  const what = `${who} saves the ${type.name} with ${JSON.stringify(block)}`
  const answer = await send(asking, what, () =>
    client.patch(`/db/${type.name}`, [{ ...body, [type.name]: block }], { dry_run: 1 }),
  )
  const ofType = world.things.filter((thing) => thing.type === type)
  const found = foundBy(asking, ofType, column, value)
  const said = `${what} ${JSON.stringify(answer.body)}`
  if (found.length === 0) assert.deepEqual([answer.status, answer.body.code], [400, 'LookupNotFound'], said)
  else if (found.length > 1) assert.deepEqual([answer.status, answer.body.code], [400, 'LookupFoundTooMany'], said)
  else assert.doesNotMatch(answer.body.code ?? '', /Lookup|NotFound/, said)
}

/** Other tags: which may be applied and taken off by whom, whoever may write. */
async function tryTags(asking: Asking, thing: Thing): Promise<void> {
  const { client, knowledge, names, pick, who } = asking
  const { index, type, trashed, tags } = thing
  if (trashed || !type.tags || !knowledge.may('write', index)) return
  const masks = maskNames(type).filter(
    (mask) => !mask.without.has('tags') && knowledge.maySaveWith(index, mask, 'write'),
  )
  if (masks.length === 0) return
  const wanted = tagRules.flatMap((_, tag) => pick([[], [tag]]))
  const may = (what: keyof TagRule) => (tag: number) =>
    tagRules[tag]?.[what].some((each) => isOf(each, knowledge.caller)) ?? true
  const payload = {
    ...payloadOf(asking, thing, pick(masks), {}),
    _tags: wanted.map((tag) => ({ _id: names.tags[tag] })),
  }
  const what = `${who} tags ${type.name} ${names.ids[index]} with ${wanted} in place of ${tags}`
  const { status, body } = await send(asking, what, () => client.patch(`/db/${type.name}`, [payload], { dry_run: 1 }))
  const right = !wanted.filter((tag) => !tags.includes(tag)).every(may('add'))
    ? 'tag_add'
    : !tags.filter((tag) => !wanted.includes(tag)).every(may('remove'))
      ? 'tag_remove'
      : undefined
  // Otherwise it is refused, if at all, for what comes of it: the caller may lose the right to read or to write.
  if (right) assert.deepEqual([status, body.parameters?.right], [403, right], what)
  else assert.ok(!/^tag_/.test(body.parameters?.right ?? ''), `${what} ${JSON.stringify(body)}`)
}

const isLookedUp = ({ kind }: Column): boolean => ['string', 'text_oneline', 'number'].includes(kind)

const foundBy = ({ knowledge }: Asking, among: readonly Thing[], column: Column, value: unknown): Thing[] =>
  among.filter(
    ({ index, trashed, values }) =>
      knowledge.sees(index) && !trashed && knowledge.knows(index, column) && values.get(column) === value,
  )

const isThere = ({ knowledge }: Asking, { index, trashed }: Thing, right: 'write' | 'delete'): boolean =>
  (!trashed || knowledge.may('delete', index)) && (knowledge.may('read', index) || knowledge.may(right, index))

/** Nothing is sent, so nothing changes; the answer is the object as it is. */
async function trySave(asking: Asking, thing: Thing, mask: Mask): Promise<void> {
  const { client, knowledge, names, who, world } = asking
  const { index, type, trashed } = thing
  const what = `${who} saves ${type.name} ${names.ids[index]} in ${mask.name}`
  const answer = await send(asking, what, () =>
    client.patch(`/db/${type.name}`, [payloadOf(asking, thing, mask, {})], { dry_run: 1, format: 'standard' }),
  )
  const { status, body } = answer
  if (!isThere(asking, thing, 'write') || trashed) {
    assert.deepEqual(
      [status, body.code],
      trashed && isThere(asking, thing, 'write') ? [status, body.code] : [404, 'ObjectNotFound'],
      what,
    )
    assert.ok(status >= 400, what)
  } else if (!knowledge.may('write', index)) assert.deepEqual([status, body.parameters?.right], [403, 'write'], what)
  else if (!knowledge.maySaveWith(index, mask, 'write'))
    assert.deepEqual([status, body.parameters?.right], [403, 'mask'], what)
  else {
    assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
    const { show } = createShow(asking)
    const options = { format: 'standard', merge: 'none', depth: 1, skipBelow: false } as const
    // Masks to write give none to read.
    const shown = show(index, knowledge.mayUse(index, mask) ? mask : null, options)
    if (knowledge.sees(index)) assert.deepEqual(plain(seenOf(body[0], world)), plain(shown), what)
    else {
      const keys = ['_global_object_id', '_not_allowed', '_objecttype', '_system_object_id', type.name]
      assert.deepEqual(
        [Object.keys(body[0]).sort(), Object.keys(body[0][type.name])],
        [keys.sort(), ['_id', '_version']],
        what,
      )
    }
  }
}

function payloadOf({ names }: Asking, { index, type }: Thing, mask: Mask, block: object): object {
  return { _objecttype: type.name, _mask: mask.name, [type.name]: { _id: names.objectIds[index], ...block } }
}

async function send(asking: Asking, what: string, request: () => Promise<Answer>): Promise<Answer> {
  const answer = await request()
  assert.ok(answer.status < 500, `${what} ${JSON.stringify(answer.body)}`)
  asking.heard(answer.body, what)
  return answer
}

/** A link is set, in each way that it can be named. */
async function tryLink(asking: Asking, thing: Thing): Promise<void> {
  const { client, knowledge, names, who, world, pick } = asking
  const { index, type, trashed } = thing
  if (trashed || !knowledge.may('write', index)) return
  const choices = maskNames(type).flatMap((mask) =>
    knowledge.maySaveWith(index, mask, 'write') ? linkFields(mask).map((column) => ({ mask, column })) : [],
  )
  if (choices.length === 0) return
  const { mask, column } = pick(choices)
  const targets = world.things.filter((other) => other.type.index === column.target)
  if (targets.length === 0) return
  const target = pick(targets)
  const stored = thing.values.get(column) === target.index
  const lookup = pick([null, null, ...target.type.table.columns.filter(isLookedUp)])
  const value = lookup && target.values.get(lookup)
  const byId = pick([
    { _system_object_id: names.ids[target.index] },
    { [target.type.name]: { _id: names.objectIds[target.index] } },
    { _global_object_id: `${names.ids[target.index]}@test` },
  ])
  const named =
    lookup && value !== undefined ? { [target.type.name]: { 'lookup:_id': { [lookup.name]: value } } } : byId
  const link = { _objecttype: target.type.name, _mask: '_all_fields', ...named }
  const what = `${who} links ${type.name}.${column.name} of ${names.ids[index]} to ${JSON.stringify(named)}`
  const { status, body } = await send(asking, what, () =>
    client.patch(`/db/${type.name}`, [payloadOf(asking, thing, mask, { [column.name]: link })], { dry_run: 1 }),
  )
  if (lookup && value !== undefined) {
    const found = foundBy(asking, targets, lookup, value)
    if (found.length === 0) assert.deepEqual([status, body.code], [400, 'LookupNotFound'], what)
    else if (found.length > 1) assert.deepEqual([status, body.code], [400, 'LookupFoundTooMany'], what)
    else assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
    return
  }
  // What is named in a request may be linked in it.
  const there = knowledge.sees(target.index) || target === thing
  if (there && target.trashed) assert.deepEqual([status, body.code], [400, 'LookupNotFound'], what)
  else if (there || stored) assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
  else assert.deepEqual([status, body.code, body.parameters?.right], [403, 'ObjectInsufficientRights', 'read'], what)
}

/** Columns of the object itself that the mask lets be written; what moves objects from master to master stays away. */
const linkFields = (mask: Mask): Column[] =>
  mask.fields.flatMap((field: Field) =>
    field.is === 'column' && field.mode === 'edit' && field.column.kind === 'link' && !field.column.reverse
      ? [field.column]
      : [],
  )

async function tryDelete(asking: Asking, thing: Thing, policy: 'setnull' | 'remove' | undefined): Promise<void> {
  const { client, knowledge, names, who } = asking
  const { index, type, trashed } = thing
  const triple = [names.objectIds[index], names.versions[index], null]
  const what = `${who} deletes ${type.name} ${names.ids[index]} ${policy}`
  const { status, body } = await send(asking, what, () =>
    client.delete(`/db/${type.name}`, [triple], { dry_run: 1, ...(policy ? { delete_policy: policy } : {}) }),
  )
  if (trashed || !isThere(asking, thing, 'delete')) {
    assert.deepEqual([status, body.code], [404, 'ObjectNotFound'], what)
    return
  }
  if (!knowledge.may('delete', index)) {
    assert.deepEqual([status, body.parameters?.right], [403, 'delete'], what)
    return
  }
  if (policy === undefined) {
    assert.equal(status, 202, what)
    const open = knownLinkers(asking, index)
    assert.match(body.tasks[0].message, new RegExp(`; ${open} other objects link`), what)
    return
  }
  const { deleted, cleared } = planOf(asking, index, policy)
  const may =
    deleted.every((each) => knowledge.may('delete', each)) && cleared.every((each) => knowledge.may('write', each))
  if (!may) {
    assert.equal(status, 403, `${what} ${JSON.stringify(body)}`)
    // Which one it is says nothing of one that the caller may not read.
    const id = body.parameters._system_object_id
    if (id !== undefined)
      assert.ok(
        isThere(asking, asking.world.things[names.ids.indexOf(id)] as Thing, 'write') ||
          knowledge.may('delete', names.ids.indexOf(id)),
        what,
      )
    return
  }
  assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
  const ids = (list: readonly number[]) => list.map((each) => names.objectIds[each]).sort()
  assert.deepEqual([body.removed.sort(), body.setnull.sort()], [ids(deleted), ids(cleared)], what)
}

interface Link {
  readonly from: number
  /** null: a child. */
  readonly column: Column | null
}

function linksTo({ world }: Asking, to: number): Link[] {
  return world.things.flatMap((thing) => {
    if (thing.trashed) return []
    const columns = linksOf(thing).flatMap((link) => (link.to === to ? [link.column] : []))
    const child = thing.parents.includes(to) ? [null] : []
    return [...columns, ...child].map((column) => ({ from: thing.index, column }))
  })
}

/** What the column says of objects that link through it when their target goes; null: what the policy says. */
function fateOf({ column }: Link): 'remove' | 'setnull' | null {
  if (column === null) return null
  if (column.reverse || column.onDelete === 'cascade') return 'remove'
  return column.onDelete === 'setnull' || (column.table.pairs && column.table.columns[0] === column) ? 'setnull' : null
}

/** Other objects that follow the policy, of those whose link the caller knows. */
function knownLinkers(asking: Asking, index: number): number {
  const { knowledge } = asking
  const known = linksTo(asking, index).filter((link) => {
    if (fateOf(link) !== null || link.from === index || !knowledge.sees(link.from)) return false
    return link.column === null || knowledge.knows(link.from, link.column)
  })
  return new Set(known.map(({ from }) => from)).size
}

function planOf(asking: Asking, root: number, policy: 'setnull' | 'remove'): { deleted: number[]; cleared: number[] } {
  const deleted = new Set<number>()
  const touched = new Set<number>()
  const open = [root]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (deleted.has(next)) continue
    deleted.add(next)
    for (const link of linksTo(asking, next)) {
      if ((fateOf(link) ?? policy) === 'remove') open.push(link.from)
      else touched.add(link.from)
    }
  }
  return { deleted: [...deleted], cleared: [...touched].filter((each) => !deleted.has(each)) }
}
