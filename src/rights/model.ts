/**
 * Vocabulary of rights. A *grant* gives rights to a *principal* on one resource. A *container* holds objects and gives them its
 * grants: a pool, or an object type for objects without pool. The *caller* is the user whose rights are evaluated.
 */
import type { ContainerRight, ObjectRight } from './catalogue.ts'

/** `u5` a user, `g3` a group, `owner` the owner of the object, `contact` the contact of its pool. */
export type Principal = `u${number}` | `g${number}` | 'owner' | 'contact'

/** A principal that is a certain user or group. */
export type Person = `u${number}` | `g${number}`

/** Parameters of one right in a grant, in wire spelling. An absent parameter is no limit, an empty list matches nothing. */
export interface RightItem {
  readonly _grantable?: boolean
  readonly allow_update_and_remove?: boolean
  readonly classes?: readonly string[]
  readonly extensions?: readonly string[]
  readonly versions?: readonly string[]
  /** Bytes; 0 is no limit. */
  readonly limit?: number
  /** Object type id to mask ids; `standard` is the standard mask of the type. */
  readonly mask_ids?: Readonly<Record<string, readonly (number | 'standard')[]>>
  readonly column_ids?: readonly number[]
  readonly objecttype_ids?: readonly number[]
  readonly pool_ids?: readonly number[]
}

export interface TagFilter {
  readonly all: readonly number[]
  readonly any: readonly number[]
  readonly not: readonly number[]
}

/** One grant as it is stored (jsonb); absent keys have their usual value. */
export interface StoredGrant {
  readonly id: number
  readonly who: Principal
  readonly rights: Readonly<Record<string, RightItem>>
  readonly tagfilter?: TagFilter
  /** UTC, ISO 8601; in force from (inclusive) and until (exclusive). */
  readonly from?: string
  readonly to?: string
  /** `false`: stored, but not in force. */
  readonly active?: false
  /** A sticky grant also applies below private permissions, and stays when callers who may not clear it save the list. */
  readonly sticky?: true
  readonly preset?: number
}

/** Effective rights: name to parameters, as `_generated_rights` shows them. */
export type GeneratedRights = Readonly<Record<string, RightItem>>

/** The data of an object that the evaluation needs. */
export interface Guarded {
  readonly systemObjectId: number
  readonly objecttypeId: number
  readonly poolId: number | null
  readonly ownerUserId: number | null
  readonly ownerGroupId: number | null
  readonly tags: readonly number[]
  /** Own grants; null where the object type has none (`acl_table` false). */
  readonly acl: readonly StoredGrant[] | null
  /** Private permissions: only sticky grants of the container apply. False where the type has no own grants. */
  readonly privateAcl: boolean
}

/** Grants of one pool and its place in the tree. */
export interface PoolGrants {
  readonly id: number
  readonly parentId: number | null
  readonly acl: readonly StoredGrant[]
  /** Whether it does not inherit the grants of its parent, except sticky ones. */
  readonly privateAcl: boolean
  readonly owner: Person | null
  readonly contact: Person | null
  /** Whether it contains objects. The root pool has grants only. */
  readonly holdsObjects: boolean
}

/** The place of a grant. */
export type GrantSource = { readonly kind: 'pool' | 'objecttype' | 'object' | 'collection'; readonly id: number }

/** The reason why a caller has a right. */
export type Reason =
  | { readonly kind: 'root' | 'owner' }
  | { readonly kind: 'grant'; readonly grant: StoredGrant; readonly place: GrantSource }

/** All grants on containers: the input for compiling the rights of a caller. */
export interface ContainerGrants {
  readonly pools: readonly PoolGrants[]
  /** Grants of object types; they count for objects without pool. */
  readonly objecttypes: ReadonlyMap<number, readonly StoredGrant[]>
}

/** Ids as bits, numbered as PostgreSQL's `get_bit` does. */
export interface IdBits {
  /** The id of the first bit. */
  readonly first: number
  readonly bytes: Buffer
}

/** The set of the objects of some collections. */
export interface ObjectSet {
  has(systemObjectId: number): boolean
  /** The total number of entries of the lists. */
  readonly size: number
  /** Their lists, each ascending. */
  readonly lists: readonly Float64Array[]
  /** A bit for each id, where that takes no more room than the lists; they are made when they are first asked for. */
  bits(): IdBits | null
  /** Bytes of these bits. The rights of a caller take them, whether they are made yet or not. */
  readonly bitBytes: number
  /** Equal for equal lists. */
  toJSON(): string
}

/**
 * Properties of the preferred files of a column: the class (`image`); the version (`image.preview`); the principals who may see any
 * version by a grant on the object or as their uploader; the principals who may see the originals in this way.
 */
export type FileMark = 'class' | 'version' | 'seer' | 'originalSeer'

/** Conditions on data of `object` itself. */
export type OfObject =
  | { readonly is: 'types'; readonly ids: readonly number[] }
  | { readonly is: 'pools'; readonly ids: readonly number[] }
  | { readonly is: 'withoutPool' }
  | { readonly is: 'tags'; readonly filter: TagFilter }
  /** The object is private: only its own grants and sticky ones apply. */
  | { readonly is: 'private' }
  /** The owner is this user, or one of these groups. */
  | { readonly is: 'owner'; readonly userId: number; readonly groupIds: readonly number[] }
  /**
   * A grant on the object itself that is in force gives one of these the right to read it (`u5`, `g3`, `c2` the contact of a pool):
   * with any masks, with all of them, limited to some, or with this one.
   */
  | {
      readonly is: 'granted'
      readonly who: readonly string[]
      readonly masks: 'any' | 'all' | 'limited' | number | 'standard'
    }
  /** The object is in the list of one of these collections. The lists are as of the compilation of the caller's rights. */
  | { readonly is: 'member'; readonly collections: readonly number[]; readonly objects: ObjectSet }

/** All preferred files of a column have this class, or a version of this name, or one of these principals may see them. */
export interface OfFiles {
  readonly is: 'files'
  readonly columnId: number
  readonly by: FileMark
  readonly names: readonly string[]
}

interface Several<L> {
  readonly is: 'and' | 'or'
  readonly of: readonly Expression<L>[]
}

interface Negated<L> {
  readonly is: 'not'
  readonly of: Expression<L>
}

export type Expression<L = OfObject | OfFiles> = L | Several<L> | Negated<L>

/** Conditions of grants on containers and objects. */
export type ReadExpression = Expression<OfObject>

/** The objects on which a caller has a right: the condition is as for reading, but grants on objects must give this right. */
export interface DeleteCondition {
  readonly right: 'delete'
  readonly when: ReadExpression
}

/** The rights that a grant gives in containers or collections. */
export interface InContainers {
  /** In these pools; `none`: without pool; `any`: anywhere, through a collection. */
  readonly poolIds: readonly number[] | 'none' | 'any'
  /** The further condition on an object. */
  readonly when: ReadExpression
}

/** Objects of a type that a caller may read by the grants of their container, and the masks that come with it. */
export interface MaskGrant extends InContainers {
  /** null: all. */
  readonly masks: readonly (number | 'standard')[] | null
}

/** Files in objects of a type that a caller may see by the grants of their container. */
export interface FileGrant extends InContainers {
  /** The limits of `asset_show` or `asset_download`; null: no limit. */
  readonly columnIds: readonly number[] | null
  readonly classes: readonly string[] | null
  readonly versions: readonly string[] | null
}

/** The rights of one caller, compiled: no method touches the database. */
export interface CallerRights {
  readonly userId: number
  readonly groupIds: readonly number[]
  /** Whether the caller has `system.root`. */
  readonly root: boolean
  may(right: ObjectRight, object: Guarded): boolean
  /** All items that give the right on the object, each with its own limits. Owners and root have an item without limits. */
  itemsOn(right: ObjectRight, object: Guarded): readonly RightItem[]
  /** All items that give the right anywhere in a pool or an object type. */
  itemsAnywhere(right: ObjectRight): readonly RightItem[]
  /** Effective rights on an object with merged parameters; owners also have `owner`. */
  rightsOn(object: Guarded): GeneratedRights
  /** Masks that may be used with `right`; null: all of them. */
  maskIds(object: Guarded, right?: ObjectRight): ReadonlySet<number | 'standard'> | null
  /** Whether the mask may be used with `right`. `_all_fields` is for root, unless the type has no other mask. */
  mayUseMask(mask: MaskUse, object: Guarded, right?: ObjectRight): boolean
  /** Whether the caller may create an object of the type, in a pool or (`null`) without one, with these tags. */
  mayCreate(objecttypeId: number, poolId: number | null, tags?: readonly number[]): boolean
  /**
   * Masks with which the caller may create objects of the type there; null: all of them; `none`: the caller may not create objects
   * there. `tags` null: with any tags.
   */
  masksToCreate(
    objecttypeId: number,
    poolId: number | null,
    tags: readonly number[] | null,
  ): ReadonlySet<number | 'standard'> | null | 'none'
  /** Whether the caller has a right on a pool itself. */
  mayPool(right: ContainerRight, poolId: number): boolean
  /**
   * Whether the caller has a right on the root pool, which all pools inherit unless they are private: for settings that apply
   * everywhere.
   */
  mayRootPool(right: ContainerRight): boolean
  /** Whether the caller may know that the pool exists: it has a right on it, or on objects in it. */
  knowsPool(poolId: number): boolean
  /** Effective rights on a pool and, by its grants, on objects in it. */
  rightsOnPool(poolId: number): GeneratedRights
  /** The objects that the caller may read; always the same value. */
  readable(): ReadExpression
  /**
   * Whether the caller may read every object of the type, whatever its pool and its tags, by grants that also apply to new objects.
   */
  readsAll(type: ReadType): boolean
  /** The objects that the caller may delete. */
  deletable(): DeleteCondition
  /** The principals of the caller in grants on objects: `u5`, `g3`, `c2` (the contact of a pool). */
  principals(): readonly string[]
  /** Objects that the caller owns. */
  readonly owned: ReadExpression
  /** All reasons for a right on an object; empty where `may` is false. */
  reasons(right: ObjectRight, object: Guarded): Reason[]
  /** All reasons for a right on a pool; empty where `mayPool` is false. */
  reasonsOnPool(right: ContainerRight, poolId: number): Reason[]
  /** All reasons for the right to create; empty where `mayCreate` is false. */
  reasonsToCreate(objecttypeId: number, poolId: number | null, tags?: readonly number[]): Reason[]
  /** Pools that hold objects; always the same list. */
  poolIds(): readonly number[]
  /** The union of several lists that this object returned: the same list for the same input. */
  poolsOf(lists: readonly (readonly number[])[]): readonly number[]
  /** The masks of `maskIds(…, 'read')` as conditions, without the masks by ownership and by grants on objects. */
  maskGrants(objecttypeId: number): readonly MaskGrant[]
  /** The files that may be shown or downloaded, as conditions, without those by ownership and by grants on objects. */
  fileGrants(objecttypeId: number): readonly FileGrant[]
}

/** The properties of an object type on which rights on its objects depend. */
export interface ReadType {
  readonly id: number
  /** Its objects are in pools. */
  readonly poolLink: boolean
  /** Its objects can have grants of their own, and be private. */
  readonly aclTable: boolean
}

export interface MaskUse {
  readonly id: number
  readonly isAllFields: boolean
  /** Whether it is the standard mask of the object type (in the pool of the object). */
  readonly isStandard: boolean
}
