import type { Mail } from '../../mail/service.ts'

interface About {
  readonly name: string
  readonly message: string
  readonly url: string
  readonly instance: string
  readonly languages: readonly string[]
}

/** The mail about a result. Its address opens the result, so it is not in the log. */
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
