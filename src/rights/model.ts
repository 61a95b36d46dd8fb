/**
 * Vocabulary of rights. A *grant* gives rights to a *principal* on one resource. A *container* holds objects and
 * gives them its grants: a pool, or an object type for objects without pool. Whose rights are asked is the *caller*.
 */
import type { ContainerRight, ObjectRight } from './catalogue.ts'

/** `u5` a user, `g3` a group, `owner` and `contact` whoever owns the object and is the contact of its pool. */
export type Principal = `u${number}` | `g${number}` | 'owner' | 'contact'

/** A principal that is somebody. */
export type Person = `u${number}` | `g${number}`

/** Parameters of one right in a grant, in wire spelling; absent is no limit, an empty list fits nothing. */
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
  /** `false`: kept, but not in force. */
  readonly active?: false
  /** Survives private permissions below, and saves by callers who may not clear it. */
  readonly sticky?: true
  readonly preset?: number
}

/** Effective rights: name to parameters, as `_generated_rights` shows them. */
export type GeneratedRights = Readonly<Record<string, RightItem>>

/** What the evaluation must know of an object. */
export interface Guarded {
  readonly systemObjectId: number
  readonly objecttypeId: number
  readonly poolId: number | null
  readonly ownerUserId: number | null
  readonly ownerGroupId: number | null
  readonly tags: readonly number[]
  /** Own grants; null where the object type has none (`acl_table` false). */
  readonly acl: readonly StoredGrant[] | null
  /** Private permissions: of the container's grants only sticky ones count. False where the type has no own grants. */
  readonly privateAcl: boolean
}

/** Grants of one pool and its place in the tree. */
export interface PoolGrants {
  readonly id: number
  readonly parentId: number | null
  readonly acl: readonly StoredGrant[]
  /** Does not inherit the grants of its parent, except sticky ones. */
  readonly privateAcl: boolean
  readonly owner: Person | null
  readonly contact: Person | null
  /** The root pool carries grants only: no object lives in it. */
  readonly holdsObjects: boolean
}

/** Where a grant stands. */
export type GrantSource = { readonly kind: 'pool' | 'objecttype' | 'object' | 'collection'; readonly id: number }

/** Why a caller has a right. */
export type Reason =
  | { readonly kind: 'root' | 'owner' }
  | { readonly kind: 'grant'; readonly grant: StoredGrant; readonly place: GrantSource }

/** All grants on containers: what the rights of a caller are compiled from. */
export interface ContainerGrants {
  readonly pools: readonly PoolGrants[]
  /** Grants of object types; they count for objects without pool. */
  readonly objecttypes: ReadonlyMap<number, readonly StoredGrant[]>
}

/** The objects of some collections. */
export interface ObjectSet {
  has(systemObjectId: number): boolean
  /** How many entries the lists have together. */
  readonly size: number
  /** Their lists, each ascending. */
  readonly lists: readonly Float64Array[]
  /** Equal for equal lists. */
  toJSON(): string
}

/**
 * What is known of the preferred files of a column: `image`; `image.preview`; who may see any version by a grant on the
 * object or as their uploader; who may see the originals in this way.
 */
export type FileMark = 'class' | 'version' | 'seer' | 'originalSeer'

/** What `object` itself says. */
export type OfObject =
  | { readonly is: 'types'; readonly ids: readonly number[] }
  | { readonly is: 'pools'; readonly ids: readonly number[] }
  | { readonly is: 'withoutPool' }
  | { readonly is: 'tags'; readonly filter: TagFilter }
  /** Only its own grants count, and sticky ones. */
  | { readonly is: 'private' }
  /** This user owns it, or one of these groups. */
  | { readonly is: 'owner'; readonly userId: number; readonly groupIds: readonly number[] }
  /**
   * A grant on the object itself, in force at the moment, lets one of these read it (`u5`, `g3`, `c2` the contact of a pool): with
   * any masks, with all of them, limited to some, or with this one.
   */
  | {
      readonly is: 'granted'
      readonly who: readonly string[]
      readonly masks: 'any' | 'all' | 'limited' | number | 'standard'
    }
  /** It is in the list of one of these collections. The lists as they were when the rights of the caller were compiled. */
  | { readonly is: 'member'; readonly collections: readonly number[]; readonly objects: ObjectSet }

/** All preferred files of a column have this class, or a version of this name, or may be seen by one of these. */
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

/** What grants of containers and objects ask. */
export type ReadExpression = Expression<OfObject>

/** Where a caller has a right: as for reading, but a grant on an object has to give this right. */
export interface DeleteCondition {
  readonly right: 'delete'
  readonly when: ReadExpression
}

/** What a grant of containers or collections gives there. */
export interface InContainers {
  /** In these pools; `none`: without pool; `any`: wherever it lies, through a collection. */
  readonly poolIds: readonly number[] | 'none' | 'any'
  /** What it asks of an object besides. */
  readonly when: ReadExpression
}

/** Objects of a type that a caller may read by the grants of their container, and the masks that come with it. */
export interface MaskGrant extends InContainers {
  /** null: all. */
  readonly masks: readonly (number | 'standard')[] | null
}

/** Files in objects of a type that a caller may see by the grants of their container. */
export interface FileGrant extends InContainers {
  /** What `asset_show` or `asset_download` is limited to; null: nothing. */
  readonly columnIds: readonly number[] | null
  readonly classes: readonly string[] | null
  readonly versions: readonly string[] | null
}

/** The rights of one caller, compiled: no method touches the database. */
export interface CallerRights {
  readonly userId: number
  readonly groupIds: readonly number[]
  /** Has `system.root`. */
  readonly root: boolean
  may(right: ObjectRight, object: Guarded): boolean
  /** What grants the right on the object, each with its own limits; one without any for its owners and for root. */
  itemsOn(right: ObjectRight, object: Guarded): readonly RightItem[]
  /** What grants the right anywhere in a pool or an object type. */
  itemsAnywhere(right: ObjectRight): readonly RightItem[]
  /** Effective rights on an object with merged parameters; `owner` is there for its owners. */
  rightsOn(object: Guarded): GeneratedRights
  /** Masks usable with `right`: null is all of them. */
  maskIds(object: Guarded, right?: ObjectRight): ReadonlySet<number | 'standard'> | null
  /** May the mask be used with `right`? `_all_fields` is for root, unless the type has no other mask. */
  mayUseMask(mask: MaskUse, object: Guarded, right?: ObjectRight): boolean
  /** Create an object of the type, in a pool or (`null`) without one, with these tags. */
  mayCreate(objecttypeId: number, poolId: number | null, tags?: readonly number[]): boolean
  /**
   * Masks with which the caller may create objects of the type there: null is all of them, `none` that it may not create
   * there. `tags` null: whatever they are.
   */
  masksToCreate(
    objecttypeId: number,
    poolId: number | null,
    tags: readonly number[] | null,
  ): ReadonlySet<number | 'standard'> | null | 'none'
  /** A right on a pool itself. */
  mayPool(right: ContainerRight, poolId: number): boolean
  /** A right on the root pool, which hands it down to all that do not cut it: for what holds wherever objects lie. */
  mayRootPool(right: ContainerRight): boolean
  /** Whether the caller can know that there is such a pool: it has a right on it, or on objects in it. */
  knowsPool(poolId: number): boolean
  /** Effective rights on a pool and, by its grants, on objects in it. */
  rightsOnPool(poolId: number): GeneratedRights
  /** The objects that the caller may read; the same each time. */
  readable(): ReadExpression
  /** The objects that the caller may delete. */
  deletable(): DeleteCondition
  /** Whom grants on objects name when they are for the caller: `u5`, `g3`, `c2` (the contact of a pool). */
  principals(): readonly string[]
  /** Objects that the caller owns. */
  readonly owned: ReadExpression
  /** All that gives a right on an object; none where `may` says no. */
  reasons(right: ObjectRight, object: Guarded): Reason[]
  /** All that gives a right on a pool; none where `mayPool` says no. */
  reasonsOnPool(right: ContainerRight, poolId: number): Reason[]
  /** All that lets create; none where `mayCreate` says no. */
  reasonsToCreate(objecttypeId: number, poolId: number | null, tags?: readonly number[]): Reason[]
  /** Pools that hold objects; the same list each time. */
  poolIds(): readonly number[]
  /** The pools of several lists that this gave: the same list for the same ones. */
  poolsOf(lists: readonly (readonly number[])[]): readonly number[]
  /** The masks of `maskIds(…, 'read')` as conditions; what owners and grants on objects give comes on top. */
  maskGrants(objecttypeId: number): readonly MaskGrant[]
  /** Where files may be shown or downloaded, as conditions; what owners and grants on objects give comes on top. */
  fileGrants(objecttypeId: number): readonly FileGrant[]
}

export interface MaskUse {
  readonly id: number
  readonly isAllFields: boolean
  /** It is the standard mask of the object type (in the pool of the object). */
  readonly isStandard: boolean
}
