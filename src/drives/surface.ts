import type { Surface } from '../platform/http/surface.ts'

/**
 * Drives speak WebDAV: the address says who may what, parameters and tokens mean nothing, and a proxy's HTTP basic
 * authentication does not disturb. Errors have the envelope of the interface.
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
