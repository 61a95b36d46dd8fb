import type { Surface } from '../platform/http/surface.ts'

/**
 * Drives use WebDAV: the address decides all rights, parameters and tokens have no meaning, and HTTP basic authentication
 * of a proxy is ignored. Errors have the envelope of the interface.
 */
export function driveSurface(api: Surface): Surface {
  return {
    ...api,
    name: 'dav',
    challenge: {},
    authenticators: [],
    parameters: null,
    origins: 'configured',
    description: null,
  }
}
