import { AppError, badRequest } from '../platform/errors.ts'
import { isRecord } from '../platform/values/records.ts'
import { type BaseConfig, isSectionName, type SectionName, sectionNames, sections } from './catalogue.ts'
import { withRegistration } from './client-registration.ts'
import { type Field, wrong } from './fields/field.ts'
import { describeMembers } from './fields/forms.ts'
import { asSent } from './fields/secrets.ts'
import type { StoredSections } from './store.ts'
import { assertUnset, isUnavailable, unavailableSections } from './unavailable.ts'

/** The steps of a path in `/config/{path}`: `system/config/<section>/<member>…`. */
export type Path = readonly string[]

/** The wire form of the whole base configuration. */
export interface ConfigDocument {
  system: { config: Record<string, unknown> }
  plugin: Record<string, unknown>
}

/** New stored form of a section, given the old one. */
export type Change = (stored: Record<string, unknown>) => Record<string, unknown>

const root = ['system', 'config'] as const

export function pathNotFound(path: Path): AppError {
  return new AppError('ResourceNotFound', { path: path.join('/') }, { message: 'There is no such configuration.' })
}

/**
 * The stored configuration, as far as the catalogue of this release accepts it: removed or invalid members are replaced by their
 * defaults, one by one.
 */
export function accepted(stored: StoredSections, onInvalid: (path: string, error: unknown) => void): StoredSections {
  const entries = [...stored].flatMap(([name, value]): [string, Record<string, unknown>][] => {
    const path = [...root, name].join('/')
    if (isSectionName(name)) return [[name, fitting(sections[name].field, value, path, onInvalid)]]
    onInvalid(path, doesNotExist(path))
    return []
  })
  return new Map(entries)
}

function fitting(
  form: Field<unknown>,
  stored: unknown,
  path: string,
  onInvalid: (path: string, error: unknown) => void,
): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(isRecord(stored) ? stored : {})) {
    const place = `${path}/${name}`
    const field = form.members && Object.hasOwn(form.members, name) ? form.members[name] : undefined
    try {
      if (!field) throw doesNotExist(place)
      kept[name] = field.members ? fitting(field, value, place, onInvalid) : field.check(value, place, value)
    } catch (error) {
      onInvalid(place, error)
    }
  }
  return kept
}

/** The stored configuration as the code uses it. */
export function compile(stored: StoredSections): BaseConfig {
  const entries = sectionNames.map((name) => [
    name,
    (sections[name].field as Field<unknown>).read(stored.get(name) ?? {}),
  ])
  return deepFreeze(Object.fromEntries(entries) as BaseConfig)
}

/** The whole document as the caller may see it, with defaults and without secrets. */
export function show(stored: StoredSections, mayRead: (section: SectionName) => boolean): ConfigDocument {
  const config = sectionNames
    .filter(mayRead)
    .map((name) => [name, (sections[name].field as Field<unknown>).show(stored.get(name) ?? {})])
  return { system: { config: Object.fromEntries(config) }, plugin: {} }
}

/** The value at a path of a shown document; list items are addressed by their index. */
export function at(document: unknown, path: Path): unknown {
  let value = document
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) throw pathNotFound(path)
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

/** Changes of `POST /config`: the sections of the body are replaced, the others stay. */
export function replaceSections(body: unknown): Map<SectionName, Change> {
  const config = sectionsOf(body)
  const changes = Object.entries(config).flatMap(([name, value]): [SectionName, Change][] => {
    if (assertedUnset(name, value)) return []
    const section = knownSection(name)
    return [[section, (stored) => checkSection(section, value, stored)]]
  })
  return new Map(changes)
}

/** The same without parts that are invalid: their paths are added to `ignored`, and the stored values there stay. */
export function replaceWhatFits(body: unknown, ignored: Set<string>): Map<SectionName, Change> {
  const config = sectionsWithin(body, ignored)
  const changes = new Map<SectionName, Change>()
  for (const [name, value] of Object.entries(config)) {
    const path = [...root, name].join('/')
    if (isSectionName(name)) changes.set(name, (stored) => fittingSection(name, value, stored, ignored))
    else if (!isUnset(name, value)) ignored.add(path)
  }
  return changes
}

/** If more members of a section are invalid, the whole section is ignored. */
const mostWrong = 200

function fittingSection(
  name: SectionName,
  wire: unknown,
  stored: Record<string, unknown>,
  ignored: Set<string>,
): Record<string, unknown> {
  const field: Field<unknown> = sections[name].field
  const path = [...root, name].join('/')
  const kept = asSent(field, stored)
  let sent = wire
  for (let wrongs = 0; wrongs < mostWrong; wrongs++) {
    try {
      return checkSection(name, sent, stored)
    } catch (error) {
      const place = placeOf(error)?.split('/').slice(path.split('/').length)
      if (!(error instanceof AppError)) throw error
      const unit = place && placeOf(error)?.startsWith(`${path}/`) ? unitOf(field, place) : []
      const said = ignored.has([path, ...unit].join('/'))
      ignored.add(said ? path : [path, ...unit].join('/'))
      // The stored values do not fit to the sent ones either.
      if (said || unit.length === 0) return stored
      sent = restored(sent, kept, unit)
    }
  }
  ignored.add(path)
  return stored
}

/** The path of the invalid value, from an error. */
export function placeOf(error: unknown): string | undefined {
  const path = error instanceof AppError ? error.parameters.path : undefined
  return typeof path === 'string' ? path : undefined
}

/** The member that a path leads to or into: a value without members is accepted or ignored as a whole. */
function unitOf(field: Field<unknown>, path: Path): Path {
  const unit: string[] = []
  let members = field.members
  for (const step of path) {
    if (!members) break
    unit.push(step)
    members = Object.hasOwn(members, step) ? members[step]?.members : undefined
  }
  return unit
}

/** The sent value, with the stored value at a path; without it, if nothing is stored there. */
function restored(sent: unknown, stored: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return stored
  const { [step]: inner, ...others } = isRecord(sent) ? sent : {}
  const before = isRecord(stored) && Object.hasOwn(stored, step) ? stored[step] : undefined
  const value = restored(inner, before, rest)
  return value === undefined ? others : { ...others, [step]: value }
}

function sectionsWithin(body: unknown, ignored: Set<string>): Record<string, unknown> {
  if (!isRecord(body)) throw wrong('/', 'an object')
  const { system = {}, plugin = {}, ...others } = body
  for (const name of Object.keys(others)) ignored.add(name)
  for (const name of isRecord(plugin) ? Object.keys(plugin) : ['']) ignored.add(`plugin/${name}`)
  const { config = {}, ...beside } = isRecord(system) ? system : {}
  for (const name of Object.keys(beside)) ignored.add(`system/${name}`)
  if (!isRecord(system) || !isRecord(config)) throw wrong('system/config', 'an object')
  try {
    return withRegistration(config)
  } catch (error) {
    const path = placeOf(error)
    if (path === undefined) throw error
    ignored.add(path)
    const { register: _, ...others } = config
    return others
  }
}

function isUnset(name: string, value: unknown): boolean {
  try {
    return assertedUnset(name, value)
  } catch {
    return false
  }
}

/** Whether it is a section that is known and unavailable. @throws {AppError} when it has a value. */
function assertedUnset(name: string, value: unknown): boolean {
  if (!isUnavailable(name)) return false
  assertUnset(value, [...root, name].join('/'))
  return true
}

/** Changes of `POST /config/{path}`: forms are merged, so absent members keep their value; other values are replaced. */
export function patchAt(path: Path, value: unknown): Map<SectionName, Change> {
  const [first, second, name, ...members] = path
  if (name !== undefined && first === 'system' && second === 'config' && isSectionName(name)) {
    assertMembers(name, members, path)
    const field: Field<unknown> = sections[name].field
    const change: Change = (stored) =>
      checkSection(name, patched(field, asSent(field, stored), members, value, path.slice(0, 3)), stored)
    return new Map([[name, change]])
  }
  const body = [...path].reverse().reduce<unknown>((inner, step) => ({ [step]: inner }), value)
  if (path.length > 2 || path.some((step, index) => step !== root[index])) throw pathNotFound(path)
  const changes = Object.entries(sectionsOf(body)).flatMap(([section, given]) => [
    ...(assertedUnset(section, given) ? [] : patchAt([...root, knownSection(section)], given)),
  ])
  return new Map(changes)
}

/** Changes of `DELETE /config/{path}`: the value there is reset to its default. */
export function resetAt(path: Path): Map<SectionName, Change> {
  const [first, second, name, ...members] = path
  if (name === undefined || first !== 'system' || second !== 'config' || !isSectionName(name)) throw pathNotFound(path)
  assertMembers(name, members, path)
  return new Map([
    [
      name,
      (stored) => {
        const left = without(stored, members) as Record<string, unknown>
        return checkSection(name, left, left)
      },
    ],
  ])
}

/** Description of all sections for forms (`GET /config/list`). */
export function describe(): { system: { defs: object[] }; plugin: Record<string, unknown> } {
  const defs = sectionNames.map((name) => {
    const { group, visible, members } = sections[name]
    return {
      name,
      group,
      parameters: describeMembers(members),
      ...(visible === 'system.config' ? { require_system_right: visible } : {}),
      unauthenticated_visible: visible === 'public',
      unavailable: false,
    }
  })
  const unavailable = Object.entries(unavailableSections).map(([name, group]) => ({
    name,
    group,
    parameters: {},
    require_system_right: 'system.config',
    unauthenticated_visible: false,
    unavailable: true,
  }))
  return { system: { defs: [...defs, ...unavailable] }, plugin: {} }
}

function checkSection(name: SectionName, wire: unknown, stored: Record<string, unknown>): Record<string, unknown> {
  const section = sections[name]
  const path = [...root, name].join('/')
  const field: Field<unknown> = section.field
  const checked = field.check(wire, path, stored) as Record<string, unknown>
  const rule =
    'rule' in section ? (section.rule as (values: unknown) => { path: string; expected: string } | null) : null
  const broken = rule?.(field.read(checked))
  if (broken) throw wrong(path + broken.path, broken.expected)
  return checked
}

function sectionsOf(body: unknown): Record<string, unknown> {
  const document = only(body, ['system', 'plugin'], '')
  const system = document.system === undefined ? {} : only(document.system, ['config'], 'system/')
  if (system.config === undefined) return {}
  if (!isRecord(system.config)) throw wrong('system/config', 'an object')
  return withRegistration(system.config)
}

/** The members of an object. Throws if it has other members than these. */
function only(value: unknown, names: readonly string[], prefix: string): Record<string, unknown> {
  if (!isRecord(value)) throw wrong(prefix === '' ? '/' : prefix.slice(0, -1), 'an object')
  const unknown = Object.keys(value).find((name) => !names.includes(name))
  if (unknown !== undefined) throw doesNotExist(prefix + unknown)
  return value
}

function knownSection(name: string): SectionName {
  if (!isSectionName(name)) throw doesNotExist([...root, name].join('/'))
  return name
}

function doesNotExist(path: string): AppError {
  return badRequest(`${path} does not exist`, { path })
}

function assertMembers(name: SectionName, members: Path, path: Path): void {
  let field: Field<unknown> | undefined = sections[name].field
  for (const member of members) {
    field = field?.members && Object.hasOwn(field.members, member) ? field.members[member] : undefined
    if (!field) throw pathNotFound(path)
  }
}

/** The stored form of a field after setting `value` at `members` below it. */
function patched(field: Field<unknown>, stored: unknown, members: Path, value: unknown, path: Path): unknown {
  const before = isRecord(stored) ? stored : {}
  const [member, ...rest] = members
  if (member !== undefined) {
    const inner = field.members?.[member]
    if (!inner) throw pathNotFound([...path, ...members])
    return { ...before, [member]: patched(inner, before[member], rest, value, [...path, member]) }
  }
  if (!field.members || value === null) return value
  if (!isRecord(value)) throw wrong(path.join('/'), 'an object')
  const merged: Record<string, unknown> = { ...before }
  for (const [name, given] of Object.entries(value)) {
    const inner = Object.hasOwn(field.members, name) ? field.members[name] : undefined
    if (!inner) throw doesNotExist([...path, name].join('/'))
    merged[name] = patched(inner, before[name], [], given, [...path, name])
  }
  return merged
}

function without(stored: unknown, members: Path): unknown {
  const [member, ...rest] = members
  if (member === undefined) return {}
  if (!isRecord(stored) || stored[member] === undefined) return stored
  if (rest.length === 0) return Object.fromEntries(Object.entries(stored).filter(([name]) => name !== member))
  return { ...stored, [member]: without(stored[member], rest) }
}

/** Freezes a value with all values in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}
