/**
 * Tags in memory. A *tag* is a flag on objects; it belongs to a *tag group*. An object has at most one tag of a `choice` group, and
 * any number of a `checkbox` group. A *layer* is a pool or an object type with its own tag settings.
 */
import type { Localized } from '../platform/values/localized.ts'
import { ByName } from '../platform/values/text.ts'
import type { StoredGrant } from '../rights/service.ts'

export const tagGroupTypes = ['checkbox', 'choice'] as const
export const tagTypes = ['individual', 'all_versions'] as const
export const displayTypes = ['facet', 'search', 'detail', 'editor', 'hidden'] as const

export type TagGroupType = (typeof tagGroupTypes)[number]
export type TagType = (typeof tagTypes)[number]
export type DisplayType = (typeof displayTypes)[number]

export interface Tag {
  readonly id: number
  readonly version: number
  readonly groupId: number
  readonly groupType: TagGroupType
  readonly displayname: Localized
  readonly description: Localized
  readonly frontendPrefs: Readonly<Record<string, unknown>>
  /** Only enabled tags can be set; an object that has the tag keeps it. */
  readonly enabled: boolean
  /** Whether new objects get it if their save has no tags. */
  readonly isDefault: boolean
  /** Whether it cannot be changed or hidden by pools and object types with their own tag settings. */
  readonly sticky: boolean
  /** `individual`: belongs to the version of the object that has it; `all_versions`: to all versions of the object. */
  readonly type: TagType
  readonly displaytype: DisplayType
  readonly reference: string | null
  readonly shortname: string | null
  /** The rights to see it as a choice, to add it and to remove it; none: all callers have them. */
  readonly acl: readonly StoredGrant[]
}

export interface TagGroup {
  readonly id: number
  readonly version: number
  readonly displayname: Localized
  readonly reference: string | null
  readonly shortname: string | null
  readonly type: TagGroupType
  readonly tags: readonly Tag[]
}

/** The committed tags, immutable. */
export interface TagSnapshot extends ReadonlyMap<number, Tag> {
  readonly groups: readonly TagGroup[]
  readonly byReference: ReadonlyMap<string, Tag>
}

/** Tag settings of a pool or an object type (`_private_tags`, `_tags`). */
export interface TagLayer {
  /** Whether only sticky tags are inherited. */
  readonly private: boolean
  readonly tags: readonly { readonly id: number; readonly enabled?: boolean; readonly isDefault?: boolean }[]
}

/** A tag with its settings in one place. */
export type EffectiveTag = Pick<Tag, 'id' | 'enabled' | 'isDefault'>

export function createSnapshot(groups: readonly TagGroup[]): TagSnapshot {
  const tags = groups.flatMap((group) => group.tags)
  const byId = new Map(tags.map((tag) => [tag.id, tag]))
  const byReference = new ByName(tags.flatMap((tag) => (tag.reference === null ? [] : [[tag.reference, tag] as const])))
  return Object.assign(byId, { groups, byReference })
}
