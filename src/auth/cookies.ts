import type { FastifyReply, FastifyRequest } from 'fastify'

/** All values that a request has for a cookie's name: a browser may send several, of different paths. */
export function cookieValues(request: Pick<FastifyRequest, 'headers'>, name: string): string[] {
  const values: string[] = []
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) values.push(pair.slice(at + 1).trim())
  }
  return values
}

interface CookieOptions {
  /** Seconds; 0 removes it, null keeps it as long as the browser runs. */
  maxAge: number | null
  path?: string
}

/** Lets the browser keep a value: never shown to scripts, not sent with requests that other sites make it send. */
export function setCookie(
  reply: FastifyReply,
  name: string,
  value: string,
  { maxAge, path = '/' }: CookieOptions,
): void {
  const attributes = [
    `${name}=${value}`,
    ...(maxAge === null ? [] : [`Max-Age=${maxAge}`]),
    `Path=${path}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(reply.request.protocol === 'https' ? ['Secure'] : []),
  ]
  reply.header('Set-Cookie', attributes.join('; '))
}
