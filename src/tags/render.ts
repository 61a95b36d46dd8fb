import type { RightApi } from '../rights/schema.ts'
import { effectiveTags } from './check.ts'
import { seesTag, type TagCaller } from './grants.ts'
import type { Tag, TagGroup, TagLayer, TagSnapshot } from './model.ts'

/** The tags of a group for which `seen` is true; `acls` are the grants of tags, for callers who may change them. */
export function renderTagGroup(
  group: TagGroup,
  seen: (tag: Tag) => boolean,
  acls: ReadonlyMap<number, readonly RightApi[]> | null,
) {
  return {
    _basetype: 'taggroup' as const,
    taggroup: {
      _id: group.id,
      _version: group.version,
      displayname: group.displayname,
      ...named(group),
      type: group.type,
    },
    _tags: group.tags
      .filter(seen)
      .map((tag) => ({ ...renderTwice(tag), ...(acls ? { _acl: [...(acls.get(tag.id) ?? [])] } : {}) })),
  }
}

/** Flat, and also as a record of its own: some clients read one form, some the other (decisions.md, 89). */
function renderTwice(tag: Tag) {
  const fields = renderTag(tag)
  return { ...fields, _basetype: 'tag' as const, tag: fields }
}

export function renderTag(tag: Tag) {
  return {
    _id: tag.id,
    _version: tag.version,
    displayname: tag.displayname,
    description: tag.description,
    frontend_prefs: tag.frontendPrefs,
    enabled: tag.enabled,
    is_default: tag.isDefault,
    sticky: tag.sticky,
    type: tag.type,
    displaytype: tag.displaytype,
    ...named(tag),
  }
}

/** The last layer's own tags, and the tags that all layers together offer to the caller. */
export function renderTagLayers(snapshot: TagSnapshot, layers: readonly TagLayer[], caller: TagCaller, at: number) {
  const render = (id: number, enabled?: boolean, isDefault?: boolean) => {
    const tag = snapshot.get(id)
    if (!tag) return []
    return [{ ...renderTag(tag), enabled: enabled ?? tag.enabled, is_default: isDefault ?? tag.isDefault }]
  }
  return {
    own: (layers.at(-1)?.tags ?? []).flatMap((tag) => render(tag.id, tag.enabled, tag.isDefault)),
    compiled: [...effectiveTags(snapshot, layers).values()].flatMap(({ id, enabled, isDefault }) => {
      const tag = snapshot.get(id)
      return tag && seesTag(tag, caller, at) ? render(id, enabled, isDefault) : []
    }),
  }
}

function named({ reference, shortname }: { reference: string | null; shortname: string | null }) {
  return { ...(reference === null ? {} : { reference }), ...(shortname === null ? {} : { shortname }) }
}
