import { AppError } from '../../../platform/errors.ts'
import { eachYielding } from '../../../platform/process/cooperative-yield.ts'
import type { StoredGrant } from '../../../rights/service.ts'
import { type TagSnapshot, withTag } from '../../../tags/service.ts'
import { forEachLink } from '../../content/links.ts'
import { sameContent } from '../../masks/writer.ts'
import type { SaveContext } from '../context.ts'
import { exists, guarded, knowsStored } from '../disclosure.ts'
import { guardBefore, type Item } from '../item.ts'
import { unknownTarget } from '../prepare.ts'
import { mayPromise } from '../promises/link.ts'
import type { StoredPromise } from '../promises/store.ts'
import type { NamedRef } from '../request/refs.ts'
import { assertMay, noTarget } from '../rules/rights.ts'
import { giveTags, tagOf } from '../system-fields.ts'
import type { Edits, GrantEdit } from './model.ts'
import { edited, soughtLinks, type Taken } from './rows.ts'

interface Edited {
  readonly item: Item
  readonly edits: Edits
}

/**
 * Applies `_operations` of payloads to the items in their current state. Runs after the check of access rights, since the answer
 * may reveal values of an object. A constant number of statements for any number of objects.
 */
export async function applyEdits(
  context: SaveContext,
  items: readonly Item[],
  { skipConstraints }: { readonly skipConstraints: boolean },
): Promise<void> {
  const all = items.flatMap((item): Edited[] => (item.draft?.edits ? [{ item, edits: item.draft.edits }] : []))
  if (all.length === 0) return
  const taken: Taken = { characters: 0, comparisons: 0 }
  const apply = ({ item, edits }: Edited): void => {
    assertRead(context, item, edits)
    assertSought(context, item, edits)
    for (const edit of edits.fields) item.content = edited(item.content, edit, taken)
    editTags(context, item, edits, skipConstraints)
  }
  await eachYielding(all, apply, context.yielder)
  await editGrants(
    context,
    all.filter(({ edits }) => edits.grants.length > 0),
  )
}

/** Whether an edit finds anything reveals stored values, so it requires the right to see them in the mask. */
function assertRead(context: SaveContext, item: Item, { place }: Edits): void {
  if (knowsStored(context, item)) return
  throw new AppError(
    'ObjectInsufficientRights',
    { name: place, right: 'read', mask: item.mask.name, objecttype: item.table.name },
    {
      message: `${place}: operations look at what is stored, and the right to read it in ${item.mask.name} is missing`,
    },
  )
}

/** Rows are only looked for by targets that the caller may see, as for new links. */
function assertSought({ rights, targets, promises, model }: SaveContext, item: Item, { fields }: Edits): void {
  if (rights.root) return
  const mayWaitFor = (promise: StoredPromise): boolean => {
    const table = model.tablesById.get(promise.objecttypeId)
    return table !== undefined && mayPromise(rights, table)
  }
  for (const edit of fields) {
    if (edit.kind !== 'remove' && edit.kind !== 'replace') continue
    const field = edit.path.at(-1)
    for (const { to, column } of field ? edit.matches.flatMap((match) => soughtLinks(field, match)) : []) {
      const target = targets.get(to)
      const promise = promises.linked.get(to)
      const hidden = (target && !exists(rights, target)) || (promise && !mayWaitFor(promise) && !linksTo(item, to))
      if (to === unknownTarget || hidden) throw noTarget(item, column.fullName)
    }
  }
}

/** Whether the stored object has a link to the target. */
function linksTo({ table, current }: Item, target: number): boolean {
  let found = false
  if (current) forEachLink(table, current.content, (_, to) => (found ||= to === target))
  return found
}

function editTags(context: SaveContext, item: Item, { tags: edits }: Edits, skipConstraints: boolean): void {
  if (edits.length === 0) return
  const snapshot = context.deps.tags.snapshot()
  let tags: readonly number[] = item.tags
  for (const { kind, named, added } of edits) {
    const out = new Set(named.map((ref) => knownTag(snapshot, ref)))
    const left = tags.filter((id) => !out.has(id))
    const put = added.map((ref) => knownTag(snapshot, ref))
    const adds = kind === 'append' || (kind === 'replace' && left.length < tags.length)
    tags = adds ? put.reduce((list, id) => withTag(snapshot, list, id), [...left]) : left
  }
  if (!sameContent(tags, item.tags)) giveTags(context, item, tags, skipConstraints)
}

function knownTag(snapshot: TagSnapshot, ref: NamedRef): number {
  const id = tagOf(snapshot, ref)
  if (!snapshot.has(id)) throw new AppError('TagNotFound', { name: ref.place, _id: id })
  return id
}

/** The effect of one edit on the grants of one object. */
interface GrantChange {
  readonly item: Item
  readonly edit: GrantEdit
}

/** Grants to add are read in the same way as those of an object without grants, with one call for all. */
async function editGrants(context: SaveContext, all: readonly Edited[]): Promise<void> {
  const { deps, tx, actor, yielder } = context
  if (all.length === 0) return
  await eachYielding(all, ({ item }) => assertMay(context, 'acl', item, guarded(guardBefore(item))), yielder)
  const changes = all.flatMap(({ item, edits }) => edits.grants.map((edit): GrantChange => ({ item, edit })))
  const lists = await deps.validateAcls(
    tx,
    actor,
    changes.map(({ edit }) => ({ wire: edit.added, previous: null, shown: false, place: edit.place })),
  )
  let index = 0
  const apply = ({ item, edit }: GrantChange): void => {
    const before = (item.acl ?? []) as readonly StoredGrant[]
    const left = before.filter(({ who }) => !edit.named.has(who))
    const adds = edit.kind === 'append' || (edit.kind === 'replace' && left.length < before.length)
    const added = (adds ? (lists[index] ?? []) : []).filter((grant) => !left.some((other) => isSame(grant, other)))
    index++
    if (left.length < before.length || added.length > 0) item.acl = [...left, ...added]
  }
  await eachYielding(changes, apply, yielder)
}

/** Whether two grants are equal, apart from their ids. */
function isSame({ id: _, ...grant }: StoredGrant, { id: __, ...other }: StoredGrant): boolean {
  return sameContent(grant, other)
}
