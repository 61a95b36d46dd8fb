import { invalidValue, isRecord } from '../../content/values.ts'
import type { Wire } from '../../masks/reader.ts'
import { sameContent } from '../../masks/writer.ts'
import { type Draft, type PayloadContext, parseObject } from '../request/payload.ts'

/** An object as a callback returned it, and as it was shown to the callback. */
export interface Replaced {
  readonly object: Wire
  readonly shown: Wire
}

/** The replacements by callbacks so far, by the places of the drafts. */
export interface CallbackReplacements {
  readonly replaced: ReadonlyMap<string, readonly Replaced[]>
  /** The uuids by which callbacks know new objects. */
  readonly shownAs: ReadonlyMap<string, string>
}

/** Drafts with the changes by callbacks, including the drafts below them. */
export function withReplacements(
  context: PayloadContext,
  drafts: readonly Draft[],
  said: CallbackReplacements,
): readonly Draft[] {
  if (said.replaced.size === 0 && said.shownAs.size === 0) return drafts
  const renew = (draft: Draft, up: Draft['up']): Draft => {
    const changed = (said.replaced.get(draft.place) ?? []).reduce(
      (before, replaced) => replaceDraft(context, before, replaced),
      draft,
    )
    const reverse = new Map<Parameters<typeof draft.reverse.get>[0], readonly Draft[]>()
    const own: Draft = { ...changed, shownAs: said.shownAs.get(draft.place), reverse, up }
    for (const [field, list] of draft.reverse) {
      reverse.set(
        field,
        list.map((each) => renew(each, { draft: own, field })),
      )
    }
    return own
  }
  return drafts.map((draft) => renew(draft, null))
}

/**
 * The draft with the fields of the replacement, and with those of its system fields that differ from the shown ones. A system field
 * that is sent back as it was shown leaves the client's value in effect.
 * @throws {AppError} when the replacement cannot be read, or belongs to another object.
 */
export function replaceDraft(context: PayloadContext, draft: Draft, { object, shown }: Replaced): Draft {
  const { table, place } = draft
  const at = `${place}.${table.name}`
  const [block, before] = [object[table.name], shown[table.name]]
  if (!isRecord(block) || !isRecord(before)) throw invalidValue(at, block, 'an object')
  assertSameObject(draft, object, shown, block, before)
  const mask = table.masks.get('_all_fields')
  if (!mask) throw new Error(`${table.name} has no mask _all_fields`)
  const differs = (key: string): boolean => object[key] !== undefined && !sameContent(object[key], shown[key])
  const differsInside = (key: string): boolean => block[key] !== undefined && !sameContent(block[key], before[key])
  // The pool is in both layers; the changed one counts.
  const inside = differs('_pool') && !differsInside('_pool') ? without(block, ['_pool']) : block
  const parsed = parseObject(context, table, mask, { wire: object, block: inside, at }, place)
  const sameFields = sameContent(without(block, blockSystem), without(before, blockSystem))
  return {
    ...draft,
    ...(sameFields ? {} : { written: parsed.written, links: parsed.links, over: { mask, partial: false } }),
    edits: draft.edits && {
      ...draft.edits,
      // The shown object already contained the effects of the edits.
      ...(sameFields ? {} : { fields: [] }),
      ...(differs('_tags') ? { tags: [] } : {}),
      ...(differs('_acl') ? { grants: [] } : {}),
    },
    ...(differs('_comment') ? { comment: parsed.comment } : {}),
    ...(differs('_tags') ? { tags: parsed.tags } : {}),
    ...(differs('_pool') || differsInside('_pool') ? { pool: parsed.pool } : {}),
    ...(differs('_acl') ? { acl: parsed.acl } : {}),
    ...(differs('_private_acl') ? { privateAcl: parsed.privateAcl } : {}),
    ...(differs('_owner') ? { owner: parsed.owner } : {}),
    ...(differs('_uuid') ? { uuid: parsed.uuid } : {}),
    ...(differsInside('_id_parent') || differsInside('_parents') ? { parents: parsed.parents } : {}),
  }
}

/** Keys of a block that are no fields. */
const blockSystem = ['_id', '_version', '_pool', '_id_parent', '_parents']

function assertSameObject({ place, table }: Draft, object: Wire, shown: Wire, block: Wire, before: Wire): void {
  const same = (value: unknown, was: unknown): boolean => (value ?? null) === (was ?? null)
  if (!same(object._objecttype, table.name)) throw invalidValue(`${place}._objecttype`, object._objecttype, table.name)
  if (object._mask !== '_all_fields') throw invalidValue(`${place}._mask`, object._mask, '_all_fields')
  const identities = [
    ['_system_object_id', object._system_object_id, shown._system_object_id],
    [`${table.name}._id`, block._id, before._id],
    // For a new object it may be chosen.
    ...(shown._system_object_id === undefined ? [] : [['_uuid', object._uuid, shown._uuid] as const]),
  ] as const
  for (const [name, value, was] of identities) {
    if (value !== undefined && !same(value, was)) throw invalidValue(`${place}.${name}`, value, 'what the object has')
  }
  const below = Object.keys(block).find((key) => key.startsWith('_reverse_nested:'))
  if (below !== undefined) throw invalidValue(`${place}.${table.name}.${below}`, block[below], 'entries of their own')
}

function without(block: Wire, keys: readonly string[]): Wire {
  return Object.fromEntries(Object.entries(block).filter(([key]) => !keys.includes(key)))
}
