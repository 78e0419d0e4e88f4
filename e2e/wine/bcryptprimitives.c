// The one function of bcryptprimitives.dll that Go's runtime calls.
// Wine 8 has no such DLL; advapi32 exports the same random numbers as
// SystemFunction036, documented as RtlGenRandom.
#include <windows.h>

BOOLEAN WINAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
	const SIZE_T most = 1 << 20;

	while (length > 0) {
		SIZE_T part = length < most ? length : most;
		if (!SystemFunction036(buffer, (ULONG)part))
			return FALSE;
		buffer += part;
		length -= part;
	}
	return TRUE;
}
