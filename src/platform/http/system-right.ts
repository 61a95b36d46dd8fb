import type { Actor } from '../actor.ts'
import { missingSystemRight } from '../errors.ts'

/** Parameters of the caller's system right, `{}` for root (RIGHTS-001), `null` without the right. */
export function systemRight(actor: Actor | null, name: string): Readonly<Record<string, unknown>> | null {
  if (!actor) return null
  if (actor.isRoot) return {}
  return actor.systemRights.get(name) ?? null
}

/**
 * Whether the caller holds a system right. With a parameter (`system.api.event`, `get`) the parameter must be `true`;
 * with a value too (`system.datamodel`, `level`, `commit`) the value must be in its list.
 */
export function hasSystemRight(actor: Actor | null, name: string, parameter?: string, value?: string): boolean {
  const given = systemRight(actor, name)
  if (!given || !actor) return false
  if (actor.isRoot || parameter === undefined) return true
  const held = given[parameter]
  if (value === undefined) return held === true
  return Array.isArray(held) ? held.includes(value) : held === value
}

/** A system right in the form for routes and services. */
export interface NeededRight {
  readonly name: string
  readonly parameter?: string
  readonly value?: string
  /** Another right that is sufficient as well. */
  readonly or?: NeededRight
}

/** In the form `system.datamodel[level=commit]`. */
export function rightName({ name, parameter, value }: NeededRight): string {
  if (parameter === undefined) return name
  return `${name}[${parameter}${value === undefined ? '' : `=${value}`}]`
}

export function hasRight(actor: Actor | null, { name, parameter, value, or }: NeededRight): boolean {
  return hasSystemRight(actor, name, parameter, value) || (or !== undefined && hasRight(actor, or))
}

/** @throws {AppError} `SystemRightRequired` (403) naming the right. */
export function requireRight(actor: Actor | null, needed: NeededRight): void {
  if (hasRight(actor, needed)) return
  throw missingSystemRight(rightName(needed), {}, needed.or ? [rightName(needed.or)] : [])
}
