import { isDeepStrictEqual } from 'node:util'
import { badRequest } from '../../platform/errors.ts'
import { saysSomething } from '../../platform/http/body/names.ts'
import { type PatternBudget, PatternError, patternBudget } from '../../platform/values/patterns.ts'
import { assertStorable } from '../../platform/values/text.ts'
import type { StoredGroup } from '../model.ts'
import { type GroupInput, groupRuleMethods, waitingGroupRules } from '../schema.ts'

type Rules = readonly { readonly method: string; readonly value: string }[]

/** Rules by which directories put people into the group. @throws {AppError} with the path of an invalid rule */
export function groupMapsOf(
  { _auth_method_group_maps: given }: GroupInput,
  stored: StoredGroup | null,
  path: string,
): Record<string, unknown> {
  const before = stored?.authMethodGroupMaps ?? {}
  if (given === undefined) return { ...before }
  assertStorable(given, path)
  const { ldap = [], sso = [], system } = given ?? {}
  const patterns = patternBudget({ total: 20_000 })
  assertRules(ldap, `${path}.ldap`, patterns)
  assertRules(sso, `${path}.sso`, patterns)
  if (saysSomething(system) && !isDeepStrictEqual(system, before.system)) {
    throw badRequest(`${path}.system: ${waitingGroupRules}`, { name: `${path}.system` })
  }
  return {
    ...(ldap.length > 0 ? { ldap } : {}),
    ...(sso.length > 0 ? { sso } : {}),
    ...(saysSomething(system) ? { system } : {}),
  }
}

function assertRules(rules: Rules, path: string, patterns: PatternBudget): void {
  rules.forEach(({ method, value }, index) => {
    const at = `${path}[${index}]`
    if (!groupRuleMethods.some((one) => one === method)) {
      throw badRequest(`${at}.method must be one of ${groupRuleMethods.join(', ')}`, { path: `${at}.method`, method })
    }
    if (value === '') throw badRequest(`${at}.value must be given`, { path: `${at}.value` })
    if (method === 'regexp') assertPattern(value, `${at}.value`, patterns)
  })
}

function assertPattern(value: string, path: string, patterns: PatternBudget): void {
  try {
    patterns.compile(value)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    const text = `${path} must be a regular expression (RE2: no look-ahead, no back references): ${error.message}`
    throw badRequest(text, { path, value })
  }
}
