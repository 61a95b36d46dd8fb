import type { Localized } from '../../platform/values/localized.ts'
import { parseTags } from '../acl.ts'
import { rightsCatalogue } from '../catalogue.ts'
import type { RightItem, TagFilter } from '../model.ts'
import { parseRights, requireUniqueChoices } from '../right-items.ts'
import type { Preset, PresetContext, PresetTerms } from './model.ts'
import type { PresetInput } from './schema.ts'

export interface PresetDraft {
  readonly position: number
  readonly displayname: Localized
  readonly description: Localized
  readonly terms: PresetTerms
}

/**
 * A preset as it is to be stored: absent members stay unchanged, `null` clears them.
 * @throws {AppError} `UnknownRight`, `UnknownRightParam`, `UnknownRightValue`, `ChoiceNotUnique`, each with the path.
 */
export function draftPreset(
  context: PresetContext,
  { right_preset: sent }: PresetInput,
  stored: Preset | null,
  path: string,
): PresetDraft {
  const texts = (value: PresetInput['right_preset']['displayname'], before: Localized = {}): Localized =>
    value === undefined ? before : withoutNull(value ?? {})
  return {
    position: sent._position === undefined ? (stored?.position ?? 0) : (sent._position ?? 0),
    displayname: texts(sent.displayname, stored?.displayname),
    description: texts(sent.description, stored?.description),
    terms: sent.preset === undefined ? (stored?.terms ?? { rights: {} }) : parseTerms(context, sent.preset, path),
  }
}

function parseTerms(
  context: PresetContext,
  sent: NonNullable<PresetInput['right_preset']['preset']>,
  path: string,
): PresetTerms {
  const place = `${path}.preset`
  const rights = sent.rights ?? {}
  requireUniqueChoices(rights, `${place}.rights`)
  return {
    rights: parseRights(context, rights, `${place}.rights`),
    ...parseTags(sent.tagfilter, `${place}.tagfilter`, rightsCatalogue[context].capabilities),
    ...(sent.default_expiration_hours ? { default_expiration_hours: sent.default_expiration_hours } : {}),
    ...(sent.share_url ? { share_url: sent.share_url } : {}),
  }
}

/** The content that a grant takes from a preset. */
export function termsOf({ rights, tagfilter }: PresetTerms): {
  rights: Readonly<Record<string, RightItem>>
  tagfilter?: TagFilter
} {
  return tagfilter ? { rights, tagfilter } : { rights }
}

function withoutNull(texts: Readonly<Record<string, string | null>>): Localized {
  return Object.fromEntries(Object.entries(texts).filter((pair): pair is [string, string] => pair[1] !== null))
}
