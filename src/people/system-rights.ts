import { isRecord } from '../platform/values/records.ts'
import type { SystemRights } from './model.ts'

export type RightParameters = Readonly<Record<string, unknown>>

/**
 * The rights of a user from several sources (its own and those of its groups): parameter lists are united, a flag holds when one
 * source sets it, other values become lists when they differ. A flag that is `false` in one source and absent in another is
 * dropped: the other does not restrict it.
 */
export function mergeSystemRights(sources: readonly SystemRights[]): ReadonlyMap<string, RightParameters> {
  const merged = new Map<string, RightParameters>()
  for (const source of sources) {
    for (const [name, parameters] of Object.entries(source)) {
      const before = merged.get(name)
      merged.set(name, before ? mergeParameters(before, parameters) : parameters)
    }
  }
  return merged
}

function mergeParameters(left: RightParameters, right: RightParameters): RightParameters {
  const merged: Record<string, unknown> = {}
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const both = Object.hasOwn(left, name) && Object.hasOwn(right, name)
    if (both) merged[name] = mergeValues(left[name], right[name])
    else {
      const only = Object.hasOwn(left, name) ? left[name] : right[name]
      if (only !== false) merged[name] = only
    }
  }
  return merged
}

function mergeValues(left: unknown, right: unknown): unknown {
  if (typeof left === 'boolean' && typeof right === 'boolean') return left || right
  if (isRecord(left) && isRecord(right)) return mergeParameters(left, right)
  const values = [...listed(left), ...listed(right)]
  const united = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()]
  return Array.isArray(left) || Array.isArray(right) || united.length > 1 ? united : united[0]
}

/**
 * Whether `held` includes all of `wanted`: no caller may pass on more than it has. A flag that is `false` is a restriction, so it
 * must also be in the rights that are passed on.
 */
export function covers(held: ReadonlyMap<string, RightParameters>, wanted: SystemRights): boolean {
  return Object.entries(wanted).every(([name, parameters]) => {
    const own = held.get(name)
    if (own === undefined) return false
    const given = Object.entries(parameters).every(([key, value]) => coversValue(own[key], value))
    return given && Object.entries(own).every(([key, value]) => value !== false || parameters[key] === false)
  })
}

function coversValue(held: unknown, wanted: unknown): boolean {
  if (wanted === false || wanted === null) return true
  const have = new Set(listed(held).map((value) => JSON.stringify(value)))
  return listed(wanted).every((value) => have.has(JSON.stringify(value)))
}

function listed(value: unknown): readonly unknown[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value]
}
