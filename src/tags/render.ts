import { effectiveTags } from './check.ts'
import type { Tag, TagGroup, TagLayer, TagSnapshot } from './model.ts'

export function renderTagGroup(group: TagGroup) {
  return {
    _basetype: 'taggroup' as const,
    taggroup: {
      _id: group.id,
      _version: group.version,
      displayname: group.displayname,
      ...named(group),
      type: group.type,
    },
    _tags: group.tags.map((tag) => renderTag(tag)),
  }
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

/** The last layer's own tags, and those that all layers together leave. */
export function renderTagLayers(snapshot: TagSnapshot, layers: readonly TagLayer[]) {
  const render = (id: number, enabled?: boolean, isDefault?: boolean) => {
    const tag = snapshot.get(id)
    if (!tag) return []
    return [{ ...renderTag(tag), enabled: enabled ?? tag.enabled, is_default: isDefault ?? tag.isDefault }]
  }
  return {
    own: (layers.at(-1)?.tags ?? []).flatMap((tag) => render(tag.id, tag.enabled, tag.isDefault)),
    compiled: [...effectiveTags(snapshot, layers).values()].flatMap((tag) =>
      render(tag.id, tag.enabled, tag.isDefault),
    ),
  }
}

function named({ reference, shortname }: { reference: string | null; shortname: string | null }) {
  return { ...(reference === null ? {} : { reference }), ...(shortname === null ? {} : { shortname }) }
}
