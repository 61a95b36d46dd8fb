import type { Mask, ReverseField, Table } from '../../datamodel/model.ts'
import type { Content, Standard, StoredObject } from '../stored/content.ts'
import type { Draft } from './request/payload.ts'

/**
 * One object on its way through a save: from the draft (or from another object's change, when `draft` is null) to
 * the version that is written. The phases of the save fill it in, in order.
 */
export interface Item {
  readonly draft: Draft | null
  readonly place: string
  readonly table: Table
  readonly mask: Mask
  readonly mode: 'create' | 'update' | 'delete' | 'undelete'
  /** The ids of a new object are provisional (`stored/provisional-ids.ts`) until the save is written. */
  systemObjectId: number
  id: number
  readonly uuid: string
  /** The stored version, locked; null for a new object. */
  readonly current: StoredObject | null
  /** The object that this one is reverse-nested under, and through which field. */
  readonly up: { readonly item: Item; readonly field: ReverseField } | null
  poolId: number | null
  ownerUser: number | null
  ownerGroup: number | null
  /** The creator; absent: the user who saves it now. Only for new objects. */
  createdBy?: number
  /** It changes because of a link that the caller may not see: error messages must not name it. */
  readonly untold?: boolean
  /** The owner was set by a transition: the caller needs no right for that. */
  ownerByWorkflow?: boolean
  tags: number[]
  acl: unknown
  privateAcl: boolean
  parents: number[]
  content: Content
  comment: string | null
  standard: Standard
  /** Whether a new version is written: always for objects that the client sent at the top level, else only when they differ. */
  changed: boolean
}

/** Version that the save writes. */
export function nextVersion(item: Item): number {
  return item.current ? item.current.version + 1 : 1
}

/** Whether the change affects who may see the object: searches are informed of that in the transaction of the save. */
export function hasMoved({ mode, current, poolId, ownerUser, ownerGroup, tags, acl, privateAcl }: Item): boolean {
  if (mode !== 'update' || !current) return false
  if (poolId !== current.poolId || privateAcl !== current.privateAcl) return true
  if (ownerUser !== current.ownerUser || ownerGroup !== current.ownerGroup) return true
  if (tags.length !== current.tags.length || tags.some((tag) => !current.tags.includes(tag))) return true
  return acl !== current.acl && JSON.stringify(acl ?? null) !== JSON.stringify(current.acl ?? null)
}

/** The object as rights see it before the save; for a new object, as it will be. */
export function guardBefore(item: Item) {
  const { current } = item
  return current ? guardOf(current) : guardAfter(item)
}

export function guardAfter(item: Item) {
  return {
    systemObjectId: item.systemObjectId,
    objecttypeId: item.table.id,
    poolId: item.poolId,
    ownerUserId: item.ownerUser,
    ownerGroupId: item.ownerGroup,
    tags: item.tags,
    acl: item.acl,
    privateAcl: item.privateAcl,
  }
}

export function guardOf(object: StoredObject) {
  return {
    systemObjectId: object.systemObjectId,
    objecttypeId: object.table.id,
    poolId: object.poolId,
    ownerUserId: object.ownerUser,
    ownerGroupId: object.ownerGroup,
    tags: object.tags,
    acl: object.table.aclTable ? object.acl : null,
    privateAcl: object.table.aclTable && object.privateAcl,
  }
}

/** An item that takes a stored object through the write phase as it is, but for its `mode`. */
export function itemOf(object: StoredObject, mode: Item['mode'], place = placeOf(object)): Item {
  return {
    draft: null,
    place,
    table: object.table,
    mask: object.table.preferredMask,
    mode,
    systemObjectId: object.systemObjectId,
    id: object.id,
    uuid: object.uuid,
    current: object,
    up: null,
    poolId: object.poolId,
    ownerUser: object.ownerUser,
    ownerGroup: object.ownerGroup,
    tags: [...object.tags],
    acl: object.acl,
    privateAcl: object.privateAcl,
    parents: [...object.parents],
    content: object.content,
    comment: null,
    standard: object.standard,
    changed: true,
  }
}

function placeOf(object: StoredObject): string {
  return `_system_object_id ${object.systemObjectId}`
}
