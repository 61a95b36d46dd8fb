import type { Tag, TagGroup } from './model.ts'

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

function named({ reference, shortname }: { reference: string | null; shortname: string | null }) {
  return { ...(reference === null ? {} : { reference }), ...(shortname === null ? {} : { shortname }) }
}
