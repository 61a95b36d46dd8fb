/**
 * The seven formats in which objects are answered, from the shortest to the fullest. docs/objects-reading.md shows
 * each by example.
 */
export const formatNames = [
  'short',
  'standard',
  'standard_extended',
  'long',
  'long_inheritance',
  'full',
  'full_inheritance',
] as const

export type FormatName = (typeof formatNames)[number]

export interface Format {
  readonly name: FormatName
  /** Fields of the mask and system fields; without them only the identity and the name of the object. */
  readonly fields: boolean
  /** `_standard` with html, files and geometries; the place in a hierarchy. */
  readonly extended: boolean
  /** Creator and grants. */
  readonly long: boolean
  /** Empty fields too, history, collections, publish records, effective rights. */
  readonly full: boolean
  /** Empty fields take the value of the nearest ancestor where the mask requests it. */
  readonly inherited: boolean
  /** Format of linked objects that are not merged. */
  readonly linked: FormatName
}

const none = { fields: true, extended: false, long: false, full: false, inherited: false }

export const formats: Readonly<Record<FormatName, Format>> = {
  short: { ...none, name: 'short', fields: false, linked: 'short' },
  standard: { ...none, name: 'standard', linked: 'short' },
  standard_extended: { ...none, name: 'standard_extended', extended: true, linked: 'short' },
  long: { ...none, name: 'long', extended: true, long: true, linked: 'standard_extended' },
  long_inheritance: {
    ...none,
    name: 'long_inheritance',
    extended: true,
    long: true,
    inherited: true,
    linked: 'standard_extended',
  },
  full: { ...none, name: 'full', extended: true, long: true, full: true, linked: 'standard_extended' },
  full_inheritance: {
    name: 'full_inheritance',
    fields: true,
    extended: true,
    long: true,
    full: true,
    inherited: true,
    linked: 'standard_extended',
  },
}

/** Which linked objects are embedded whole (`merge_linked_objects`). */
export const mergeModes = [
  'none',
  'in_main_search',
  'not_in_main_search',
  'not_in_main_search_unless_reverse',
  'all',
] as const

export type MergeMode = (typeof mergeModes)[number]

/** Upper limit of the merge depth, whatever the request says. */
const maxMergeDepth = 10

/** The depth to which linked objects are embedded for a request; 0: not at all. */
export function appliedMergeDepth(mode: MergeMode | undefined, depth: number | undefined): number {
  return mode === undefined || mode === 'none' ? 0 : Math.min(depth ?? 1, maxMergeDepth)
}
