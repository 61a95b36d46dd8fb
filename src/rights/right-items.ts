/** Checks rights and their parameters against the catalogue. */
import { AppError } from '../platform/errors.ts'
import { type RightContext, type RightDefinition, type RightParameter, rightsCatalogue } from './catalogue.ts'
import type { RightItem } from './model.ts'
import { recordAt } from './who.ts'

const definitions = new Map<RightContext, ReadonlyMap<string, RightDefinition>>(
  Object.entries(rightsCatalogue).map(([context, { rights }]) => [
    context as RightContext,
    new Map(rights.map((right) => [right.name, right])),
  ]),
)

/**
 * The rights map of a grant, checked and normalised (null values dropped, sizes in bytes).
 * @throws {AppError} `UnknownRight`, `UnknownRightParam`, `UnknownRightValue`, each with the path.
 */
export function parseRights(
  context: RightContext,
  wire: unknown,
  path: string,
  added: ReadonlyMap<string, RightDefinition> = none,
): Record<string, RightItem> {
  const rights: Record<string, RightItem> = {}
  for (const [name, item] of Object.entries(recordAt(wire, path))) {
    const definition = definitions.get(context)?.get(name) ?? added.get(name)
    if (!definition) throw new AppError('UnknownRight', { path: `${path}.${name}`, right: name, context })
    if (item === null) continue
    rights[name] = parseItem(definition, item, `${path}.${name}`) as RightItem
  }
  return rights
}

/** @throws {AppError} `ChoiceNotUnique` where a parameter of a right lists the same value twice. */
export function requireUniqueChoices(wire: unknown, path: string): void {
  for (const [right, item] of Object.entries(recordAt(wire, path))) {
    if (typeof item !== 'object' || item === null) continue
    for (const [param, value] of Object.entries(item)) {
      if (!Array.isArray(value) || new Set(value).size === value.length) continue
      throw new AppError('ChoiceNotUnique', { path: `${path}.${right}.${param}`, right, param })
    }
  }
}

/** Parses the system rights of a user or group (`_system_rights`): right names with their parameters. */
export function parseSystemRights(
  wire: unknown,
  path = '_system_rights',
  added: ReadonlyMap<string, RightDefinition> = none,
): Record<string, Record<string, unknown>> {
  return parseRights('system', wire, path, added) as Record<string, Record<string, unknown>>
}

const none: ReadonlyMap<string, RightDefinition> = new Map()

function parseItem(definition: RightDefinition, wire: unknown, path: string): Record<string, unknown> {
  const item: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(recordAt(wire, path))) {
    const parameter = name === '_grantable' && definition.grantable ? grantable : parameterOf(definition, name)
    const place = { path: `${path}.${name}`, right: definition.name, param: name }
    if (!parameter) throw new AppError('UnknownRightParam', place)
    if (value === null) continue
    const checked = checkedValue(parameter, value)
    if (checked === undefined) throw new AppError('UnknownRightValue', { ...place, value })
    item[name] = checked
  }
  return item
}

const grantable: RightParameter = { name: '_grantable', type: 'bool', comment: '', mergePolicy: '' }

function parameterOf(definition: RightDefinition, name: string): RightParameter | undefined {
  return definition.parameters.find((parameter) => parameter.name === name)
}

/** The value in its stored form; undefined when the parameter cannot have it. */
function checkedValue(parameter: RightParameter, value: unknown): unknown {
  switch (parameter.type) {
    case 'bool':
      return typeof value === 'boolean' ? value : undefined
    case 'bytes':
      return bytes(value)
    case 'integer-list':
      return listOf(value, isId)
    case 'string-list':
      // A single choice may be sent as a text: `system.datamodel` with `level: "commit"`.
      return listOf(typeof value === 'string' ? [value] : value, (text) => isChoice(parameter, text))
    case 'mask-list':
      return maskList(value)
    case 'int':
      return Number.isSafeInteger(value) ? value : undefined
    case 'text':
      return isText(value) ? value : undefined
    case 'string-list-one':
      return oneOf(parameter, value, 1)
    case 'string-list-one-or-zero':
      return oneOf(parameter, value, 0)
    case 'mask-select':
    case 'objecttype-select':
    case 'eas-column-select':
    case 'pool-select':
    case 'preview-versions':
      return listOf(value, (member) => isId(member) || (isText(member) && member !== ''))
  }
}

const longestText = 10_000

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= longestText
}

/** One choice, as a text or a list of one. */
function oneOf(parameter: RightParameter, value: unknown, least: 0 | 1): unknown[] | undefined {
  const chosen = listOf(typeof value === 'string' ? [value] : value, (text) => isChoice(parameter, text))
  return chosen && chosen.length >= least && chosen.length <= 1 ? chosen : undefined
}

function isId(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0
}

function isChoice(parameter: RightParameter, text: unknown): boolean {
  return typeof text === 'string' && text !== '' && (!parameter.choices || parameter.choices.includes(text))
}

function listOf(value: unknown, fits: (member: unknown) => boolean): unknown[] | undefined {
  return Array.isArray(value) && value.every(fits) ? [...new Set(value)] : undefined
}

function maskList(value: unknown): Record<string, unknown[]> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const masks: Record<string, unknown[]> = {}
  for (const [type, list] of Object.entries(value)) {
    const checked = /^[1-9]\d{0,14}$/.test(type) ? listOf(list, (mask) => mask === 'standard' || isId(mask)) : undefined
    if (!checked) return undefined
    masks[type] = checked
  }
  return masks
}

const units: Readonly<Record<string, number>> = { '': 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }

/** Bytes from an integer or a text such as `10MB` (decimal units). */
function bytes(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined
  const parts = typeof value === 'string' ? /^(\d{1,12})\s*([KMGT]?B|)$/i.exec(value.trim()) : null
  const size = parts ? Number(parts[1]) * (units[(parts[2] ?? '').toUpperCase()] ?? Number.NaN) : Number.NaN
  return Number.isSafeInteger(size) ? size : undefined
}
