import type { Person } from '../rights/service.ts'
import type { WrittenObject } from './effects.ts'
import type { Plan, PlanObject } from './engine.ts'
import type { Operation } from './model.ts'
import type { GuardedItem } from './setters.ts'

/** An object in a save, with the members that transitions use and change (objects/save/item.ts). */
export interface ChangingItem extends GuardedItem {
  readonly mode: 'create' | 'update' | 'delete' | 'undelete'
  readonly current: { readonly version: number; readonly tags: readonly number[] } | null
  ownerUser: number | null
  ownerGroup: number | null
  /** Set if a transition has changed the owner. */
  ownerByWorkflow?: boolean
  tags: number[]
  /** Whether a new version is written. */
  changed: boolean
}

const operationOf: Readonly<Record<ChangingItem['mode'], Operation | null>> = {
  create: 'INSERT',
  update: 'UPDATE',
  delete: 'DELETE',
  // Restoring an object from the trash is no change that a workflow covers.
  undelete: null,
}

/** The items for which transitions are evaluated, by their place in the batch. */
export function planObjects(
  items: readonly ChangingItem[],
  contactOf: (poolId: number) => Person | null,
): PlanObject[] {
  return items.flatMap((item, key) => {
    const operation = operationOf[item.mode]
    if (operation === null || !item.changed) return []
    return {
      key,
      operation,
      objecttypeId: item.table.id,
      poolId: item.poolId,
      tagsBefore: item.current?.tags ?? null,
      tagsAfter: item.tags,
      owner: ownerOf(item),
      poolContact: item.poolId === null ? null : contactOf(item.poolId),
      // A new object has an id already, but a different one when the request is sent again.
      systemObjectId: item.mode === 'create' ? null : item.systemObjectId,
      version: item.current?.version ?? 0,
    }
  })
}

function ownerOf({ ownerUser, ownerGroup }: ChangingItem): Person | null {
  if (ownerUser !== null) return `u${ownerUser}`
  return ownerGroup === null ? null : `g${ownerGroup}`
}

/** Changes tags and owners of the items as planned. */
export function applyPlan(plan: Plan, items: readonly ChangingItem[]): void {
  for (const { object, tagsAfter, owner } of plan.objects) {
    const item = items[Number(object.key)]
    if (!item) continue
    if (tagsAfter !== object.tagsAfter) item.tags = [...tagsAfter]
    if (owner === object.owner || owner === null) continue
    const id = Number(owner.slice(1))
    item.ownerUser = owner.startsWith('u') ? id : null
    item.ownerGroup = owner.startsWith('u') ? null : id
    item.ownerByWorkflow = true
  }
}

/** The written objects, by the keys of the plan. */
export function writtenObjects(items: readonly ChangingItem[]): Map<number, WrittenObject> {
  return new Map(
    items.map(({ systemObjectId, current, changed }, key) => {
      const version = current?.version ?? 0
      return [key, { systemObjectId, version: changed ? version + 1 : version }]
    }),
  )
}

/** Marks objects of a manual or event run: they get a new version only if the transition changes them. */
export function markChanged(items: readonly ChangingItem[], plan: Plan): void {
  for (const { object, tagsAfter, owner } of plan.objects) {
    const item = items[Number(object.key)]
    if (item) item.changed = !sameTags(object.tagsAfter, tagsAfter) || owner !== object.owner
  }
}

function sameTags(left: readonly number[], right: readonly number[]): boolean {
  return left.length === right.length && left.every((id) => right.includes(id))
}
