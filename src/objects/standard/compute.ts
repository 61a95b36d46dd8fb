import type { ColumnField, Mask, MaskField, NestedField } from '../../datamodel/model.ts'
import { canonicalJson } from '../../platform/values/canonical-json.ts'
import { simplifyGeometry } from '../content/geometry.ts'
import { sortRows } from '../content/nested-sort.ts'
import { type Content, type ContentRow, rowsOf, type Standard } from '../stored/content.ts'
import { isProvisional } from '../stored/provisional-ids.ts'
import { joinList, joinParts, type Text, type TextPart, textByLanguage, textOfSlot, valueText } from './text.ts'

/** Stored standards of the objects to which a content links; `undefined` for deleted objects. */
export type LinkedStandard = (systemObjectId: number) => Standard | undefined

interface Slot {
  readonly text: Readonly<Record<string, string>>
}

export interface StandardFile {
  readonly _id: number
  readonly preferred: boolean
}

export interface StandardGeo {
  readonly _field_name: string
  readonly geo: unknown
}

interface Context {
  readonly linked: LinkedStandard
  readonly languages: readonly string[]
}

const slots = [1, 2, 3] as const
type SlotNumber = (typeof slots)[number]

/** Maximum number of files and geometries of a level; others are left out, since links would otherwise collect more and more. */
const maxPerLevel = 20

/** The contribution of a mask to `_standard`, computed once per mask: fields without a contribution are not visited. */
interface Plan {
  readonly texts: Readonly<Record<SlotNumber, readonly TextSource[]>>
  readonly files: readonly LevelSource<StandardFile>[]
  readonly geo: readonly LevelSource<StandardGeo>[]
  readonly links: readonly LinkSource[]
}

interface TextSource {
  readonly stopIfSet: boolean
  read(content: Content, context: Context): TextPart | undefined
}

interface LevelSource<T> {
  readonly level: string
  read(content: Content, context: Context, add: (entry: T) => void): void
}

type LinkSource = (content: Content, add: (systemObjectId: number) => void) => void

const plans = new WeakMap<Mask, Plan>()

/**
 * The short projection of an object, which other objects show for it: up to three text slots from the fields that the mask assigns
 * to them, in mask order, and the files and geometries of its levels.
 *
 * - A link contributes slot 1 of the linked object's own stored standard (`#<id>` when that is empty), whatever the slot.
 * - The rows of a nested table are joined by its `format_inner`; its `format` is put between them and the next field.
 * - `stop_if_set` ends a slot at the first such field with a value.
 * - Reverse fields contribute nothing: they are other objects, whose changes do not save this one.
 *
 * A slot without text is absent; `wireStandard` puts `#<id>` there on the wire.
 */
export function computeStandard(
  mask: Mask,
  content: Content,
  linked: LinkedStandard,
  languages: readonly string[],
): Standard {
  const plan = planOf(mask)
  const context: Context = { linked, languages }
  const result: Record<string, unknown> = {}
  for (const slot of slots) {
    const text = readSlot(plan.texts[slot], content, context)
    if (text !== undefined) result[slot] = { text: textByLanguage(text, languages) }
  }
  const eas = readLevels(plan.files, content, context, (file) => file._id)
  if (eas) result.eas = eas
  const geo = readLevels(plan.geo, content, context, (entry) => JSON.stringify(entry))
  if (geo) result.geo = geo
  return result
}

/** Ids of the objects whose standards `computeStandard` needs, each once. */
export function linkedForStandard(mask: Mask, content: Content): number[] {
  const ids = new Set<number>()
  for (const source of planOf(mask).links) source(content, (id) => ids.add(id))
  return [...ids]
}

/** The title of an object in the first of `languages` that has one, else in any: one line for logs and events. */
export function standardText(standard: Standard, languages: readonly string[]): string {
  for (const slot of slots) {
    const byLanguage = (standard[slot] as Slot | undefined)?.text
    if (!byLanguage) continue
    const language = languages.find((name) => byLanguage[name] !== undefined) ?? Object.keys(byLanguage)[0]
    if (language !== undefined && byLanguage[language] !== undefined) return byLanguage[language]
  }
  return ''
}

/** Whether two standards are equal: a save that does not change the standard need not update objects that link to it. */
export function sameStandard(a: Standard, b: Standard): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

function readSlot(sources: readonly TextSource[], content: Content, context: Context): Text | undefined {
  const parts: TextPart[] = []
  for (const source of sources) {
    const part = source.read(content, context)
    if (!part) continue
    parts.push(part)
    if (source.stopIfSet) break
  }
  return joinParts(parts)
}

function readLevels<T>(
  sources: readonly LevelSource<T>[],
  content: Content,
  context: Context,
  identity: (entry: T) => unknown,
): Record<string, T[]> | undefined {
  if (sources.length === 0) return undefined
  const levels = new Map<string, Map<unknown, T>>()
  for (const source of sources) {
    source.read(content, context, (entry) => {
      const level = levels.get(source.level) ?? new Map<unknown, T>()
      levels.set(source.level, level)
      const key = identity(entry)
      if (level.size < maxPerLevel && !level.has(key)) level.set(key, entry)
    })
  }
  if (levels.size === 0) return undefined
  return Object.fromEntries([...levels].map(([level, entries]) => [level, [...entries.values()]]))
}

function planOf(mask: Mask): Plan {
  const known = plans.get(mask)
  if (known) return known
  const plan = planFields(mask.fields)
  plans.set(mask, plan)
  return plan
}

interface GrowingPlan {
  readonly texts: Record<SlotNumber, TextSource[]>
  readonly files: LevelSource<StandardFile>[]
  readonly geo: LevelSource<StandardGeo>[]
  readonly links: LinkSource[]
}

function planFields(fields: readonly MaskField[]): Plan {
  const plan: GrowingPlan = { texts: { 1: [], 2: [], 3: [] }, files: [], geo: [], links: [] }
  for (const field of fields) {
    if (field.kind === 'column') planColumn(plan, field)
    else if (field.kind === 'nested') planNested(plan, field)
  }
  return plan
}

function planColumn(plan: GrowingPlan, field: ColumnField): void {
  const { column, standard } = field
  const { key } = column
  if (standard) {
    const { format } = standard
    plan.texts[standard.order].push({
      stopIfSet: standard.stopIfSet,
      read: (content, context) => {
        const value = content[key]
        if (value === undefined) return undefined
        const text =
          column.type === 'link' ? linkText(value as number, context) : valueText(column, value, context.languages)
        return text === undefined ? undefined : { text, format }
      },
    })
  }
  if (field.standardEas !== null && (column.type === 'eas' || column.type === 'link')) {
    const level = String(field.standardEas)
    plan.files.push({
      level,
      read: (content, context, add) => {
        for (const file of columnFiles(field, content[key], level, context)) add(file)
      },
    })
  }
  if (field.standardGeo !== null && (column.type === 'geo_json' || column.type === 'link')) {
    const level = String(field.standardGeo)
    plan.geo.push({
      level,
      read: (content, context, add) => {
        for (const entry of columnGeo(field, content[key], level, context)) add(entry)
      },
    })
  }
  const contributes = standard !== null || field.standardEas !== null || field.standardGeo !== null
  if (column.type === 'link' && contributes) {
    plan.links.push((content, add) => {
      const target = content[key]
      if (target !== undefined) add(target as number)
    })
  }
}

/** The name of an object without a title. In a dry run a new one has no number yet. */
export function numberName(systemObjectId: number): string {
  return isProvisional(systemObjectId) ? '#' : `#${systemObjectId}`
}

function linkText(systemObjectId: number, { linked, languages }: Context): Text | undefined {
  const standard = linked(systemObjectId)
  if (!standard) return undefined
  const slot = standard['1'] as Slot | undefined
  return slot ? textOfSlot(slot.text, languages) : numberName(systemObjectId)
}

/** Files of a file field, the preferred one first; of a link, the same level of the linked object. */
function columnFiles(field: ColumnField, value: unknown, level: string, { linked }: Context): readonly StandardFile[] {
  if (value === undefined) return []
  if (field.column.type === 'link') {
    const files = linked(value as number)?.eas as Record<string, StandardFile[]> | undefined
    return files?.[level] ?? []
  }
  return (value as StandardFile[])
    .map(({ _id, preferred }) => ({ _id, preferred }))
    .sort((a, b) => Number(b.preferred) - Number(a.preferred))
}

function columnGeo(field: ColumnField, value: unknown, level: string, { linked }: Context): readonly StandardGeo[] {
  if (value === undefined) return []
  if (field.column.type === 'link') {
    const geo = linked(value as number)?.geo as Record<string, StandardGeo[]> | undefined
    return geo?.[level] ?? []
  }
  return [{ _field_name: field.column.fullName, geo: simplifyGeometry(value) }]
}

function planNested(plan: GrowingPlan, field: NestedField): void {
  const inner = planFields(field.fields)
  const rows = (content: Content, { linked, languages }: Context): readonly ContentRow[] => {
    const sorted = sortRows(field, rowsOf(content, field.table), (id) => standardText(linked(id) ?? {}, languages))
    return field.standardFirstOnly ? sorted.slice(0, 1) : sorted
  }
  for (const slot of slots) {
    if (inner.texts[slot].length === 0) continue
    const format = field.standard?.format ?? 'comma'
    const formatInner = field.standard?.formatInner ?? 'comma'
    plan.texts[slot].push({
      stopIfSet: field.standard?.stopIfSet ?? false,
      read: (content, context) => {
        const texts: Text[] = []
        for (const row of rows(content, context)) {
          const text = readSlot(inner.texts[slot], row, context)
          if (text !== undefined) texts.push(text)
        }
        const text = joinList(texts, formatInner)
        return text === undefined ? undefined : { text, format }
      },
    })
  }
  plan.files.push(...inner.files.map((source) => overRows(source, rows)))
  plan.geo.push(...inner.geo.map((source) => overRows(source, rows)))
  const sortedByLink = field.sort.filter((by) => by.column.type === 'link').map((by) => by.column.key)
  const contributes = slots.some((slot) => inner.texts[slot].length > 0) || inner.files.length + inner.geo.length > 0
  if (inner.links.length === 0 && !(contributes && sortedByLink.length > 0)) return
  plan.links.push((content, add) => {
    for (const row of rowsOf(content, field.table)) {
      for (const source of inner.links) source(row, add)
      if (contributes) for (const key of sortedByLink) if (row[key] !== undefined) add(row[key] as number)
    }
  })
}

function overRows<T>(
  source: LevelSource<T>,
  rows: (content: Content, context: Context) => readonly ContentRow[],
): LevelSource<T> {
  return {
    level: source.level,
    read: (content, context, add) => {
      for (const row of rows(content, context)) source.read(row, context, add)
    },
  }
}
