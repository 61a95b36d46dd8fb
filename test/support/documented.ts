import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TestService } from './service.ts'

/**
 * Where the specification leaves a name to us it has to be chosen and documented: the query parameters of the operation
 * (`post /db/{objecttype}`) are described in the interface description, and the page of `docs/` names them.
 */
export async function assertDocumented(
  svc: Pick<TestService, 'as'>,
  operation: string,
  names: readonly string[],
  page: string,
): Promise<void> {
  const parameters = await parametersOf(svc, operation)
  for (const name of names) {
    const parameter = parameters.find((each) => each.in === 'query' && each.name === name)
    assert.ok((parameter?.description ?? '').length > 10, `${operation}: ${name} is not described`)
  }
  assertNamed(page, names)
}

/** The interface description has each of these operations, without query parameters but those that all have. */
export async function assertCommonParameters(
  svc: Pick<TestService, 'as'>,
  ...operations: readonly string[]
): Promise<void> {
  for (const operation of operations) {
    const own = (await parametersOf(svc, operation)).filter(
      (each) => each.in === 'query' && !['strict', 'pretty', 'cache_seconds'].includes(each.name),
    )
    assert.deepEqual(own, [], operation)
  }
}

async function parametersOf(
  svc: Pick<TestService, 'as'>,
  operation: string,
): Promise<readonly { name: string; in: string; description?: string }[]> {
  const [method = '', path = ''] = operation.split(' ')
  const { paths } = (await svc.as(null).get('/system/openapi/spec.json')).body
  const described = paths[`/api/v1${path}`]?.[method]
  assert.ok(described, `${operation} is not described`)
  return described.parameters ?? []
}

/** The page of `docs/` names each of them as a piece of code. */
export function assertNamed(page: string, names: readonly string[]): void {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  const code = new Set(
    [...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, span = '']) => [span, ...span.split(/[ ,{}"=]+/)]),
  )
  for (const name of names) assert.ok(code.has(name), `docs/${page} does not name ${name}`)
}

/** A page of `docs/`. */
export function pageText(page: string): string {
  return readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
}
