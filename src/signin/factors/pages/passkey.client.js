/** Asks the device for a passkey when the form is sent, and sends what it answers along. */
;(() => {
  const asked = document.getElementById('passkey')
  const problem = document.getElementById('passkey-problem')
  const form = asked.closest('form')
  const field = form.elements.passkey
  const { act, options, failed, unsupported } = asked.dataset

  const bytes = (text) =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0))
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer)))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', '')
  const keys = (list = []) => list.map((key) => ({ ...key, id: bytes(key.id) }))

  function readOptions() {
    const read = JSON.parse(options)
    read.challenge = bytes(read.challenge)
    if (read.user) read.user.id = bytes(read.user.id)
    if (read.excludeCredentials) read.excludeCredentials = keys(read.excludeCredentials)
    if (read.allowCredentials) read.allowCredentials = keys(read.allowCredentials)
    return read
  }

  function written({ id, rawId, type, response }) {
    const answer = { clientDataJSON: text(response.clientDataJSON) }
    if (act === 'create') {
      answer.attestationObject = text(response.attestationObject)
      answer.transports = response.getTransports?.() ?? []
    } else {
      answer.authenticatorData = text(response.authenticatorData)
      answer.signature = text(response.signature)
      if (response.userHandle) answer.userHandle = text(response.userHandle)
    }
    return JSON.stringify({ id, rawId: text(rawId), type, response: answer })
  }

  function say(what) {
    problem.textContent = what
    problem.hidden = false
  }

  form.addEventListener('submit', async (event) => {
    if (field.value) return
    event.preventDefault()
    if (!navigator.credentials || !window.PublicKeyCredential) return say(unsupported)
    problem.hidden = true
    try {
      field.value = written(await navigator.credentials[act]({ publicKey: readOptions() }))
      form.submit()
    } catch {
      say(failed)
    }
  })
})()
