import type { FastifyReply, FastifyRequest } from 'fastify'

/** All values of a cookie in a request: a browser may send several, for different paths. */
export function cookieValues(request: Pick<FastifyRequest, 'headers'>, name: string): string[] {
  const values: string[] = []
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) values.push(pair.slice(at + 1).trim())
  }
  return values
}

const hostPrefix = '__Host-'

/**
 * The name of a cookie that no neighbouring host name can set or shadow: browsers accept `__Host-` from this very host alone, over
 * https and for all of its paths (RFC 6265bis, 4.1.3.2). Over http they do not accept the prefix, so the bare name is used there.
 */
export function hostCookieName({ protocol }: Pick<FastifyRequest, 'protocol'>, name: string): string {
  return protocol === 'https' ? hostPrefix + name : name
}

/** Values that only this host can have set. Over http no browser sends any. */
export function hostCookieValues(request: Pick<FastifyRequest, 'headers'>, name: string): string[] {
  return cookieValues(request, hostPrefix + name)
}

interface CookieOptions {
  /** Seconds; 0 removes it, null keeps it until the browser is closed. */
  maxAge: number | null
  path?: string
  /** `Strict`: not sent with requests that start on other sites, links included. */
  sameSite?: 'Lax' | 'Strict'
}

/** Sets a cookie: not readable by scripts, and not sent with requests that other sites cause. */
export function setCookie(
  reply: FastifyReply,
  name: string,
  value: string,
  { maxAge, path = '/', sameSite = 'Lax' }: CookieOptions,
): void {
  const attributes = [
    `${name}=${value}`,
    ...(maxAge === null ? [] : [`Max-Age=${maxAge}`]),
    `Path=${path}`,
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(reply.request.protocol === 'https' ? ['Secure'] : []),
  ]
  reply.header('Set-Cookie', attributes.join('; '))
}
