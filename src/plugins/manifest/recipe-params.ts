/** Parameters of recipes: their types, limits and defaults. */
import { badRequest } from '../../platform/errors.ts'
import type { Place } from './reader.ts'

/** A parameter as its recipe describes it. */
export interface RecipeParam {
  /** `any`: an unknown type; the program gets the value as it was sent. */
  readonly type: 'string' | 'int' | 'bool' | 'select' | 'any'
  readonly description: string
  /** Of a number; null: none. */
  readonly min: number | null
  readonly max: number | null
  /** Of a selection. */
  readonly options: readonly string[]
  /** The default; null: none. */
  readonly fallback: string | number | boolean | null
  readonly mandatory: boolean
  /** Collections and requests may set it. */
  readonly editable: boolean
}

export type RecipeParams = Readonly<Record<string, RecipeParam>>

/** Parameters of recipes, by the name of the recipe. */
export type RecipeConfigs = Readonly<Record<string, { readonly params?: Readonly<Record<string, unknown>> | null }>>

const mostParams = 100
const longestText = 100_000
const types: ReadonlySet<string> = new Set(['string', 'int', 'bool', 'select'])

/** @throws {AppError} for what describes no parameter */
export function readParams(place: Place): RecipeParams {
  return Object.fromEntries(place.members(mostParams).map(([name, param]) => [name, readParam(param)]))
}

function readParam(place: Place): RecipeParam {
  place.knows('type', 'description', 'displayname', 'min', 'max', 'options', 'default', 'mandatory', 'usereditable')
  const type = place.at('type').textOr('any', 64)
  if (!types.has(type) && type !== 'any') place.ignored.add(place.at('type').path)
  return {
    type: types.has(type) ? (type as RecipeParam['type']) : 'any',
    description: place.at('description').textOr('', 10_000),
    min: numberAt(place.at('min')),
    max: numberAt(place.at('max')),
    options: place
      .at('options')
      .items(1000)
      .map((one) => (one.at('value').absent ? one : one.at('value')).text(1000)),
    fallback: fallbackAt(place.at('default')),
    mandatory: place.at('mandatory').flag(),
    editable: place.at('usereditable').flag(),
  }
}

function numberAt(place: Place): number | null {
  if (place.absent) return null
  if (typeof place.value !== 'number' || !Number.isFinite(place.value)) throw place.wrong('a number')
  return place.value
}

function fallbackAt(place: Place): RecipeParam['fallback'] {
  if (place.absent) return null
  if (typeof place.value === 'number' || typeof place.value === 'boolean') return place.value
  return place.text(longestText)
}

/** The origin of parameters: settings by managers of mappings, or collections and requests of users. */
export type ParamsBy = 'manager' | 'user'

/** Parameters as they go to the recipe; empty ones are left out. @throws {AppError} naming the place */
export function checkParams(
  defined: RecipeParams,
  given: Readonly<Record<string, unknown>>,
  { path, by }: { readonly path: string; readonly by: ParamsBy },
): Record<string, unknown> {
  const entries = Object.entries(given).flatMap(([name, value]) => {
    const place = `${path}.${name.slice(0, 100)}`
    const param = Object.hasOwn(defined, name) ? defined[name] : undefined
    if (!param) throw wrong(place, 'there is no such parameter')
    if (value === null) return []
    if (by === 'user' && !param.editable) throw wrong(place, 'only its recipe, a mapping or an object type sets it')
    return [[name, checkedValue(param, value, place)]]
  })
  return Object.fromEntries(entries)
}

function checkedValue(param: RecipeParam, value: unknown, place: string): unknown {
  switch (param.type) {
    case 'string':
      if (typeof value !== 'string' || value.length > longestText)
        throw wrong(place, `it must be a text of at most ${longestText} characters`)
      return value
    case 'int':
      return wholeNumber(param, value, place)
    case 'bool':
      if (typeof value === 'string') return ['true', '1', 'yes'].includes(value)
      if (typeof value !== 'boolean') throw wrong(place, 'it must be true or false')
      return value
    case 'select':
      if (typeof value !== 'string' || !param.options.includes(value))
        throw wrong(place, `it must be one of ${param.options.join(', ').slice(0, 500)}`)
      return value
    case 'any':
      return value
  }
}

function wholeNumber({ min, max }: RecipeParam, value: unknown, place: string): number {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
  if (!Number.isSafeInteger(number)) throw wrong(place, 'it must be a whole number')
  const whole = number as number
  if (min !== null && whole < min) throw wrong(place, `it must be at least ${min}`)
  if (max !== null && whole > max) throw wrong(place, `it must be at most ${max}`)
  return whole
}

/** The parameters of a run: of the first layer that has them, else the defaults of the recipe. */
export function paramsOfRun(
  defined: RecipeParams,
  layers: readonly (Readonly<Record<string, unknown>> | undefined)[],
): Record<string, unknown> {
  const entries = Object.entries(defined).flatMap(([name, { fallback }]) => {
    const own = layers.map((layer) => (layer && Object.hasOwn(layer, name) ? layer[name] : undefined))
    const said = own.find((value) => value !== undefined && value !== null) ?? fallback
    return said === null || said === undefined ? [] : [[name, said]]
  })
  return Object.fromEntries(entries)
}

/** The first parameter that must be set and is not; undefined: there is none. */
export function missingParam(defined: RecipeParams, params: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(defined).find((name) => defined[name]?.mandatory && !Object.hasOwn(params, name))
}

function wrong(path: string, problem: string) {
  return badRequest(`${path}: ${problem}`, { path })
}
