import { AppError } from '../platform/errors.ts'
import type { EffectiveTag, Tag, TagLayer, TagSnapshot } from './model.ts'

/**
 * The tags that can be used in one place. `layers` are ordered from the outside in (pools from the root, then the object type). A
 * private layer starts without tags, any other one with the tags from above; either changes `enabled` and `is_default` of its own
 * tags. Layers do not affect sticky tags.
 */
export function effectiveTags(snapshot: TagSnapshot, layers: readonly TagLayer[]): ReadonlyMap<number, EffectiveTag> {
  let current: ReadonlyMap<number, EffectiveTag> = snapshot
  for (const layer of layers) {
    if (!layer.private && layer.tags.length === 0) continue
    const next = new Map<number, EffectiveTag>()
    for (const [id, tag] of current) if (!layer.private || snapshot.get(id)?.sticky) next.set(id, tag)
    for (const { id, enabled, isDefault } of layer.tags) {
      const tag = snapshot.get(id)
      if (!tag || tag.sticky) continue
      const above = current.get(id) ?? tag
      next.set(id, { id, enabled: enabled ?? above.enabled, isDefault: isDefault ?? above.isDefault })
    }
    current = next
  }
  return current
}

/** The same if some layer has settings; null: all tags are usable unchanged. */
export function narrowedTags(
  snapshot: TagSnapshot,
  layers: readonly TagLayer[],
): ReadonlyMap<number, EffectiveTag> | null {
  const narrowed = layers.some((layer) => layer.private || layer.tags.length > 0)
  return narrowed ? effectiveTags(snapshot, layers) : null
}

export interface TagCheck {
  /** Tags as the save sends them; undefined when they are absent. */
  readonly tags: readonly number[] | undefined
  /** Tags of the stored object; null for a new one. */
  readonly previous: readonly number[] | null
  /** Tags usable in the object's pool and type; null: no layer has settings. */
  readonly available?: ReadonlyMap<number, EffectiveTag> | null
  /** Whether several tags of one choice group are accepted (DB-006). */
  readonly skipConstraints?: boolean
}

/**
 * The tags of an object after a save. If the request has none, a stored object keeps its tags, and a new object gets the default
 * tags. A tag that the object has already may stay although it can no longer be set.
 * @throws {AppError} `TagNotFound`, `TagNotEnabled`, `ConstraintViolation` (rule `choice`)
 */
export function checkTags(snapshot: TagSnapshot, check: TagCheck): number[] {
  const available = check.available ?? snapshot
  if (check.tags === undefined) return check.previous === null ? defaultTags(snapshot, available) : [...check.previous]
  const tags = [...new Set(check.tags)]
  for (const id of tags) {
    if (check.previous?.includes(id)) continue
    const tag = snapshot.get(id)
    if (!tag) throw new AppError('TagNotFound', { field: '_tags', tag: id })
    if (!available.get(id)?.enabled) throw new AppError('TagNotEnabled', { field: '_tags', tag: id, ...nameOf(tag) })
  }
  if (!check.skipConstraints) assertChoices(snapshot, tags)
  return tags
}

/** Only the first default tag of a choice group is set: the group allows one tag. */
function defaultTags(snapshot: TagSnapshot, available: ReadonlyMap<number, EffectiveTag>): number[] {
  const chosen = new Set<number>()
  const tags: number[] = []
  for (const { id, groupId, groupType } of snapshot.values()) {
    const effective = available.get(id)
    if (!effective?.enabled || !effective.isDefault) continue
    if (groupType === 'choice' && chosen.has(groupId)) continue
    chosen.add(groupId)
    tags.push(id)
  }
  return tags
}

/** @throws {AppError} `ConstraintViolation` when two of the tags are in the same choice group */
export function assertChoices(snapshot: TagSnapshot, tags: readonly number[]): void {
  const byGroup = new Map<number, number>()
  for (const id of tags) {
    const tag = snapshot.get(id)
    if (tag?.groupType !== 'choice') continue
    const other = byGroup.get(tag.groupId)
    if (other !== undefined) {
      throw new AppError(
        'ConstraintViolation',
        { field: '_tags', rule: 'choice', taggroup: tag.groupId, tags: [other, id] },
        { message: `Only one tag of the group ${tag.groupId} can be set, not both ${other} and ${id}.` },
      )
    }
    byGroup.set(tag.groupId, id)
  }
}

/** The tags with one more; setting a tag of a choice group removes the group's other tags. */
export function withTag(snapshot: TagSnapshot, tags: readonly number[], id: number): number[] {
  if (tags.includes(id)) return [...tags]
  const added = snapshot.get(id)
  const kept = tags.filter((other) => added?.groupType !== 'choice' || snapshot.get(other)?.groupId !== added.groupId)
  return [...kept, id]
}

function nameOf(tag: Tag): { reference?: string } {
  return tag.reference === null ? {} : { reference: tag.reference }
}
