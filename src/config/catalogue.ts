import type { ValuesOf } from './fields/field.ts'
import { access } from './sections/access.ts'
import { addresses } from './sections/addresses.ts'
import { exporting } from './sections/export.ts'
import { files } from './sections/files.ts'
import { general } from './sections/general.ts'
import { harvesting } from './sections/harvest.ts'
import { outgoing } from './sections/outgoing.ts'
import { people } from './sections/people.ts'

export { fileClasses } from './sections/files.ts'
export type { Section, Visibility } from './sections/section.ts'

/**
 * The base configuration: every section with its members, kinds and defaults. To add one, add it to a file of `sections`: reading,
 * writing, checking, `GET /config/list` and the static type of `baseConfig.get()` follow from this table. Names are those of the
 * interface. Members that the service does not use yet are `waiting`.
 */
export const sections = {
  ...general,
  ...access,
  ...people,
  ...outgoing,
  ...files,
  ...addresses,
  ...exporting,
  ...harvesting,
} as const

export type SectionName = keyof typeof sections

/** The base configuration as the code reads it; immutable. */
export type BaseConfig = { readonly [K in SectionName]: ValuesOf<(typeof sections)[K]['members']> }

export const sectionNames = Object.keys(sections) as SectionName[]

export function isSectionName(name: string): name is SectionName {
  return Object.hasOwn(sections, name)
}
