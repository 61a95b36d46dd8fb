import type { Mail } from '../../mail/service.ts'

interface About {
  readonly name: string
  readonly message: string
  readonly url: string
  readonly instance: string
  readonly languages: readonly string[]
}

/** What people are told of a result. Its address opens it, so the log does not have it. */
export function exportMail({
  name,
  message,
  url,
  instance,
  languages,
}: About): Pick<Mail, 'template' | 'subject' | 'text' | 'secret' | 'cause'> {
  const german = languages[0]?.startsWith('de') === true
  const subject = (german ? `${instance}: Export „${name}“` : `${instance}: export “${name}”`).replaceAll(/\s+/g, ' ')
  const line = german ? 'Der Export ist fertig:' : 'The export is ready:'
  const text = [...(message === '' ? [] : [message, '']), line, url].join('\n')
  return { template: 'export', subject, text, secret: url, cause: { Export: name } }
}
