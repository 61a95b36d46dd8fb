import type { Preset } from './model.ts'
import type { PresetOutput } from './schema.ts'

export function renderPreset({
  id,
  version,
  position,
  displayname,
  description,
  terms,
  ...times
}: Preset): PresetOutput {
  const { all = [], any = [], not = [] } = terms.tagfilter ?? {}
  return {
    _basetype: 'right_preset',
    right_preset: {
      _id: id,
      _version: version,
      _position: position,
      displayname: { ...displayname },
      description: { ...description },
      preset: {
        default_expiration_hours: terms.default_expiration_hours ?? 0,
        share_url: terms.share_url ?? '',
        rights: terms.rights,
        // Transitions, not grants, have conditions on tags that a save changes.
        tagfilter: { all: [...all], any: [...any], not: [...not], changed: [] },
      },
    },
    _created_at: times.createdAt.toISOString(),
    _updated_at: times.updatedAt.toISOString(),
  }
}
