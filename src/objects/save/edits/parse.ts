import type { ColumnField, ColumnType, Mask, MaskField, NestedField } from '../../../datamodel/model.ts'
import { invalidValue, isRecord, isUuid, printable } from '../../content/values.ts'
import { type Holder, rowWriterOf } from '../../masks/writer.ts'
import { type NamedRef, tagRefs } from '../request/refs.ts'
import { fileEdit } from './files.ts'
import { type Edits, editLimits, type FieldEdit, type GrantEdit, type RowMatch, type TagEdit } from './model.ts'

type Fields = Readonly<Record<string, unknown>>

/** Links in rows: in rows to add, and in rows to look for. */
interface Links {
  readonly added: Holder[]
  readonly sought: Holder[]
}

export const editOps = ['append', 'prepend', 'remove', 'replace', 'replace_text'] as const

type Op = (typeof editOps)[number]

/** Members of an operation beside `op` and `field`. */
const members: Readonly<Record<Op, readonly string[]>> = {
  append: ['values', 'unless_present'],
  prepend: ['values', 'unless_present'],
  remove: ['values'],
  replace: ['values', 'with'],
  replace_text: ['search', 'with', 'whole_words', 'match_case', 'languages'],
}

/**
 * Reads `_operations` of a payload.
 * @throws {AppError} `InvalidValue` naming the mistake: an operation with a mistake is not carried out in part.
 */
export function parseEdits(mask: Mask, wire: Fields, place: string, links: Links): Edits | null {
  const { _operations: sent } = wire
  if (sent === undefined || sent === null) return null
  const at = `${place}._operations`
  if (!Array.isArray(sent) || sent.length > editLimits.operations) {
    throw invalidValue(at, sent, `a list of at most ${editLimits.operations} operations`)
  }
  assertFew(sent, at)
  const edits = { fields: [] as FieldEdit[], tags: [] as TagEdit[], grants: [] as GrantEdit[], place: at }
  for (const [index, one] of sent.entries()) {
    const where = `${at}.${index}`
    const { op, field } = operation(one, where)
    const name = one.field as string
    if (name === '_tags') edits.tags.push(tagEdit(mask, op, one, where))
    else if (name === '_acl') edits.grants.push(grantEdit(mask, op, one, where))
    else edits.fields.push(fieldEdit(mask, op, field, one, where, links))
  }
  return edits.fields.length + edits.tags.length + edits.grants.length === 0 ? null : edits
}

/** Rows, files, tags and grants of the operations together. */
export function valuesOf(sent: unknown): number {
  if (!Array.isArray(sent)) return 0
  const length = (list: unknown): number => (Array.isArray(list) ? list.length : 0)
  return sent.reduce((sum: number, one) => sum + (isRecord(one) ? length(one.values) + length(one.with) : 0), 0)
}

function assertFew(sent: readonly unknown[], at: string): void {
  const count = valuesOf(sent)
  if (count > editLimits.values)
    throw invalidValue(at, count, `at most ${editLimits.values} rows, files, tags and grants`)
}

function operation(one: unknown, at: string): { readonly op: Op; readonly field: string } {
  if (!isRecord(one)) throw invalidValue(at, one, 'an operation with op and field')
  const { op, field } = one
  const known = editOps.find((name) => name === op)
  if (!known) throw invalidValue(`${at}.op`, op, `one of ${editOps.join(', ')}`)
  if (typeof field !== 'string' || field === '') throw invalidValue(`${at}.field`, field, 'the name of a field')
  const others = Object.keys(one).find((key) => key !== 'op' && key !== 'field' && !members[known].includes(key))
  if (others !== undefined) throw invalidValue(`${at}.${others}`, one[others], `absent: ${known} has no such member`)
  return { op: known, field }
}

function fieldEdit(mask: Mask, op: Op, name: string, one: Fields, at: string, links: Links): FieldEdit {
  const { path, column } = target(mask, name, `${at}.field`)
  if (op === 'replace_text') {
    if (!column || !textTypes.has(column.column.type)) throw invalidValue(`${at}.field`, name, 'a field of texts')
    return { kind: op, path, column: column.column, place: at, ...textReplacement(one, at) }
  }
  if (column?.column.type === 'eas') return { path, ...fileEdit(column, op, one, at) }
  const field = path.at(-1)
  if (column || !field)
    throw invalidValue(`${at}.field`, name, `a nested table, a field of files, _tags or _acl for ${op}`)
  if (op === 'append' || op === 'prepend') {
    const rows = rowsAt(one.values, `${at}.values`).map((row, index) =>
      newRow(field, row, `${at}.values.${index}`, links.added),
    )
    return { kind: op, path, place: at, rows, unlessPresent: flag(one.unless_present, `${at}.unless_present`) }
  }
  const matches = rowsAt(one.values, `${at}.values`).map((row, index) =>
    matchOf(field, row, `${at}.values.${index}`, links.sought),
  )
  const fields = op === 'replace' ? newRow(field, rowAt(one.with, `${at}.with`), `${at}.with`, links.added) : null
  return { kind: op, path, place: at, matches, fields }
}

/** The field of a name such as `_nested:work__material.name`, through fields that the mask allows to write. */
function target(
  mask: Mask,
  name: string,
  at: string,
): { readonly path: readonly NestedField[]; readonly column: ColumnField | null } {
  const path: NestedField[] = []
  let fields: readonly MaskField[] = mask.fields
  const steps = name.split('.')
  for (const [index, step] of steps.entries()) {
    const found = fields.find((field) => field.mode === 'edit' && nameOf(field) === step)
    if (found?.kind === 'column' && index === steps.length - 1) return { path, column: found }
    if (found?.kind !== 'nested') throw invalidValue(at, name, 'a field that the mask lets be written')
    path.push(found)
    fields = found.fields
  }
  return { path, column: null }
}

function nameOf(field: MaskField): string {
  if (field.kind === 'column') return field.column.name
  return field.kind === 'nested' ? field.table.wireKey : field.wireKey
}

const textTypes: ReadonlySet<ColumnType> = new Set(['text', 'text_oneline', 'string', 'text_l10n', 'text_l10n_oneline'])

/** Types whose values cannot be compared with sent values. */
const uncompared: ReadonlySet<ColumnType> = new Set(['eas', 'custom', 'geo_json'])

function newRow(field: NestedField, row: Fields, at: string, links: Holder[]) {
  assertRow(field, row, at)
  return rowWriterOf(field).read(row, { place: at, links })
}

/** Every key must be a field: a misspelled key would be ignored, with everything below it. */
function assertRow({ fields }: NestedField, row: Fields, at: string): void {
  if (Object.keys(row).length === 0) throw invalidValue(at, row, 'a row with fields')
  for (const [key, value] of Object.entries(row)) {
    const field = fields.find((one) => one.mode === 'edit' && one.kind !== 'reverse' && nameOf(one) === key)
    if (!field) throw invalidValue(`${at}.${key}`, value, 'a field that the mask lets be written')
    if (field.kind !== 'nested' || !Array.isArray(value)) continue
    for (const [index, inner] of value.entries()) {
      if (isRecord(inner)) assertRow(field, inner, `${at}.${key}.${index}`)
    }
  }
}

function matchOf(field: NestedField, row: Fields, at: string, links: Holder[]): RowMatch {
  const { _uuid: uuid, ...sought } = row
  if (Object.keys(row).length === 0) throw invalidValue(at, row, 'fields or the _uuid of a row')
  if (uuid !== undefined && !isUuid(uuid)) throw invalidValue(`${at}._uuid`, uuid, 'a unique identifier')
  for (const [key, value] of Object.entries(sought)) {
    const found = field.fields.find((one) => one.mode === 'edit' && nameOf(one) === key)
    if (found?.kind !== 'column' || uncompared.has(found.column.type)) {
      throw invalidValue(`${at}.${key}`, value, 'a field that the mask lets be written and that can be compared')
    }
  }
  const found: Holder[] = []
  const values = rowWriterOf(field).read(sought, { place: at, links: found })
  // Targets that are only looked for are not created.
  for (const { target, ...holder } of found) {
    const { made: _, ...named } = target as typeof target & { made?: unknown }
    links.push({ ...holder, target: named })
  }
  return { uuid, values, place: at }
}

function rowsAt(value: unknown, at: string): readonly Fields[] {
  return listAt(value, at).map((row, index) => rowAt(row, `${at}.${index}`))
}

function rowAt(value: unknown, at: string): Fields {
  if (!isRecord(value)) throw invalidValue(at, value, 'a row')
  return value
}

function listAt(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw invalidValue(at, value, 'a list of at least one')
  return value
}

function flag(value: unknown, at: string): boolean {
  if (value === undefined || value === null) return false
  if (typeof value !== 'boolean') throw invalidValue(at, value, 'true or false')
  return value
}

function textReplacement(one: Fields, at: string) {
  return {
    search: textAt(one.search, `${at}.search`, editLimits.search, 1),
    text: textAt(one.with, `${at}.with`, editLimits.text, 0),
    wholeWords: flag(one.whole_words, `${at}.whole_words`),
    matchCase: flag(one.match_case, `${at}.match_case`),
    languages: languagesAt(one.languages, `${at}.languages`),
  }
}

function textAt(value: unknown, at: string, most: number, least: number): string {
  const fits = typeof value === 'string' && value.length >= least && value.length <= most
  if (fits && !value.includes('\0') && value.isWellFormed()) return value
  throw invalidValue(at, value, `text of ${least} to ${most} characters`)
}

function languagesAt(value: unknown, at: string): readonly string[] | null {
  if (value === undefined || value === null) return null
  const languages = listAt(value, at)
  const wrong = languages.find((one) => typeof one !== 'string' || one.length > 35)
  if (wrong !== undefined || languages.length > 100)
    throw invalidValue(at, wrong ?? languages.length, 'languages such as en-US')
  return languages as string[]
}

function listOp(op: Op, one: Fields, at: string): 'append' | 'remove' | 'replace' {
  if (op !== 'append' && op !== 'remove' && op !== 'replace')
    throw invalidValue(`${at}.op`, op, 'append, remove or replace')
  if (one.unless_present !== undefined) {
    throw invalidValue(`${at}.unless_present`, one.unless_present, 'absent: what is there is not added again')
  }
  return op
}

function tagEdit(mask: Mask, op: Op, one: Fields, at: string): TagEdit {
  const kind = listOp(op, one, at)
  assertSystem(mask, 'tags', one, at)
  const values = tagsAt(one.values, `${at}.values`)
  if (kind === 'append') return { kind, named: [], added: values }
  return { kind, named: values, added: kind === 'replace' ? tagsAt(one.with, `${at}.with`) : [] }
}

const tagsAt = (value: unknown, at: string): readonly NamedRef[] => tagRefs(listAt(value, at), at)

function grantEdit(mask: Mask, op: Op, one: Fields, at: string): GrantEdit {
  const kind = listOp(op, one, at)
  assertSystem(mask, 'acl', one, at)
  const values = listAt(one.values, `${at}.values`)
  if (kind === 'append')
    return { kind, named: new Set(), added: grantsAt(values, `${at}.values`), place: `${at}.values` }
  const named = new Set(values.map((value, index) => principalAt(value, `${at}.values.${index}`)))
  const added = kind === 'replace' ? grantsAt(listAt(one.with, `${at}.with`), `${at}.with`) : []
  return { kind, named, added, place: `${at}.with` }
}

/** Each object gets new grants. */
function grantsAt(values: readonly unknown[], at: string): readonly unknown[] {
  for (const [index, grant] of values.entries()) {
    if (isRecord(grant) && grant._id !== undefined) throw invalidValue(`${at}.${index}._id`, grant._id, 'absent')
  }
  return values
}

/** `{"who": {"user": {"_id": 5}}}` in the form in which grants are stored. */
function principalAt(value: unknown, at: string): string {
  const expected = 'who: a user or group with its _id, _owner or _pool_contact'
  const { who, ...others } = isRecord(value) ? value : {}
  if (!isRecord(who) || Object.keys(others).length > 0) throw invalidValue(at, value, expected)
  const { _basetype: _, ...named } = who
  const [kind, second] = Object.keys(named)
  const person = kind === undefined ? undefined : named[kind]
  const id = isRecord(person) ? person._id : undefined
  if (second === undefined && Number.isSafeInteger(id) && (kind === 'user' || kind === 'group')) {
    return `${kind === 'user' ? 'u' : 'g'}${String(id)}`
  }
  if (second === undefined && person === true && kind === '_owner') return 'owner'
  if (second === undefined && person === true && kind === '_pool_contact') return 'contact'
  throw invalidValue(`${at}.who`, printable(who), expected)
}

function assertSystem(mask: Mask, name: 'tags' | 'acl', one: Fields, at: string): void {
  const has = name === 'tags' ? mask.table.hasTags : mask.table.aclTable
  if (!has || mask.system[name].edit !== 'edit') {
    throw invalidValue(`${at}.field`, one.field, 'what objects of the type have, and the mask lets be written')
  }
}
