import { AppError } from '../errors.ts'
import { nearestName } from '../values/nearest.ts'

export interface KnownRoute {
  readonly method: string
  readonly url: string
}

/** Longer paths are unlikely to be typing errors, and would be costly to compare. */
const longestPath = 200

/** The answer to a request without a route: names the requested address and the most similar one. */
export function unknownAddress(method: string, path: string, routes: readonly KnownRoute[]): AppError {
  const steps = path.slice(0, longestPath).split('/')
  const methods = methodsAt(path, routes).map((route) => route.method)
  const hint = methods.length > 0 ? `it has ${[...new Set(methods)].join(', ')}.` : nearestHint(method, steps, routes)
  return new AppError(
    'UnknownEndpointMethod',
    { method, path },
    { message: `There is no ${method} ${path}${hint === null ? '.' : `; ${hint}`}` },
  )
}

/** The routes of an address, whatever their method. */
export function methodsAt<Route extends KnownRoute>(path: string, routes: readonly Route[]): Route[] {
  const steps = path.slice(0, longestPath).split('/')
  return routes.filter((route) => fits(steps, route.url.split('/')))
}

function nearestHint(method: string, steps: readonly string[], routes: readonly KnownRoute[]): string | null {
  const byShape = new Map<string, string>()
  // Of two methods of one address the requested one is suggested.
  for (const route of routes) {
    const shape = withValues(route.url, steps)
    if (!byShape.has(shape) || route.method === method) byShape.set(shape, `${route.method} ${route.url}`)
  }
  const path = steps.join('/')
  // Most clients with a wrong address forget the prefix /api/v1.
  const nearest = nearestName(path, byShape.keys()) ?? nearestName(`/api/v1${path}`, byShape.keys())
  const found = nearest === null ? undefined : byShape.get(nearest)
  return found === undefined ? null : `did you mean ${found}?`
}

function fits(steps: readonly string[], pattern: readonly string[]): boolean {
  if (pattern.at(-1) === '*')
    return steps.length >= pattern.length && fits(steps.slice(0, pattern.length - 1), pattern.slice(0, -1))
  return (
    steps.length === pattern.length && pattern.every((part, index) => part.startsWith(':') || part === steps[index])
  )
}

/** The pattern with the values of the path in its parameters, so that these do not count as differences. */
function withValues(url: string, steps: readonly string[]): string {
  const parts = url.split('/')
  const shift = parts.length - steps.length
  return parts
    .map((part, index) => (part.startsWith(':') ? (steps[index] ?? steps[index - shift] ?? part) : part))
    .join('/')
}
