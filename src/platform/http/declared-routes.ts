import type { RouteOptions } from 'fastify'
import type { Access } from './http.ts'
import type { Surface } from './surface.ts'
import type { NeededRight } from './system-right.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** All routes with their declarations, in the order of registration. */
    readonly declaredRoutes: readonly DeclaredRoute[]
  }
}

export interface DeclaredRoute {
  readonly method: string
  readonly url: string
  readonly surface: Surface
  readonly access: Access
  readonly writes: boolean
  readonly systemRight: NeededRight | undefined
}

/** @throws {Error} when one of our routes is on no surface, or does not declare its access and whether it writes. */
export function declarationsOf({ method, url, config }: RouteOptions): DeclaredRoute[] {
  const methods = [method].flat()
  // Added by the framework and its plugins: HEAD beside each GET, the preflight of CORS.
  if (methods.every((one) => one === 'HEAD' || one === 'OPTIONS')) return []
  const { surface, access, writes, systemRight } = config ?? {}
  if (surface === undefined) throw new Error(`${methods} ${url} is on no surface`)
  if (access === undefined || writes === undefined) throw new Error(`${methods} ${url} declares no access or writes`)
  return methods.map((one) => ({ method: one, url, surface, access, writes, systemRight }))
}
